/**
 * Which ops of a tree have breakpoints: the state of the box of each node, and the breakpoints that a click on
 * the box sets and removes.
 */
import type { Breakpoint, Where } from "../../api/live";
import type { BreakpointNumber } from "../../base/ids";
import { escaped } from "../../base/text";
import type { ListedOp } from "./op_list";
import type { OpTree, TreeNode } from "./op_tree";
import { atGraph, atOp, isSamePlace, place } from "./places";

/** For each position in the tree, how many ops before it have a breakpoint. */
export type Marks = Int32Array;

export type BoxState = "all" | "some" | "none";

/** What a click on a box does. */
export type BoxChange =
  | { readonly kind: "set"; readonly wheres: readonly Where[] }
  | { readonly kind: "remove"; readonly numbers: readonly BreakpointNumber[] }
  | { readonly kind: "refused"; readonly sentence: string };

/** The most breakpoints that a click on a group without a rule of its own sets. */
const MOST_AT_ONCE = 50;

export function marksOf(tree: OpTree, breakpoints: readonly Breakpoint[]): Marks {
  const tests = breakpoints.filter(({ enabled }) => enabled).map(({ where }) => fits(where));
  const before = new Int32Array(tree.ops.length + 1);
  tree.ops.forEach((op, i) => {
    before[i + 1] = (before[i] ?? 0) + (tests.some((test) => test(op)) ? 1 : 0);
  });
  return before;
}

export function boxState(marks: Marks, { begin, end }: TreeNode): BoxState {
  const n = (marks[end] ?? 0) - (marks[begin] ?? 0);
  return n === 0 ? "none" : n === end - begin ? "all" : "some";
}

/** Whether an op fits; the lines of ops are not in the list, so that a breakpoint on a line fits none here. */
export function fits(where: Where): (op: ListedOp) => boolean {
  if (where.calls || where.path !== "") return () => false;
  const [name, layer, called] = [where.name_regex, where.layer_regex, where.function_regex].map(regexOf);
  return (op) =>
    (where.op_name === "" || where.op_name === op.name) &&
    (where.op_type === "" || where.op_type === op.type) &&
    (name?.test(op.name) ?? true) &&
    (layer?.test(op.layer) ?? true) &&
    (called?.test(op.fullFunction) ?? true);
}

/** The program checks expressions in Python's notation; one that JavaScript does not know fits nothing. */
function regexOf(text: string): RegExp | undefined {
  if (text === "") return undefined;
  try {
    return new RegExp(text);
  } catch {
    return /(?!)/;
  }
}

/** The place of all outputs of an op. */
export function whereOf(op: ListedOp): Where {
  return atOp(op.name, op.fullFunction);
}

/** The pattern for the function of an op, as a breakpoint on the op has it. */
function functionPart(op: ListedOp): Pick<Where, "function_regex"> {
  const { function_regex } = atGraph(op.fullFunction);
  return { function_regex };
}

/** The one breakpoint that stops at all ops of a group; undefined when no rule names them. */
export function whereOfGroup(tree: OpTree, node: TreeNode): Where | undefined {
  const first = tree.ops[node.begin];
  if (first === undefined) return undefined;
  if (node.op !== undefined) return whereOf(node.op);
  return { scope: scopeRule, layer: layerRule, device: () => undefined }[tree.grouping](first, node.path);
}

function scopeRule(first: ListedOp, [, ...scopes]: readonly string[]): Where | undefined {
  const inFunction = functionPart(first);
  if (scopes.length > 0) return place({ name_regex: `^${escaped(scopes.join("/"))}/`, ...inFunction });
  return first.fullFunction === "" ? undefined : atGraph(first.fullFunction);
}

function layerRule(first: ListedOp, path: readonly string[]): Where | undefined {
  if (first.layer === "") return undefined;
  const depth = first.layer.split("/").length;
  const layer = path.slice(0, depth).join("/");
  const rule = { layer_regex: `^${escaped(layer)}${path.length > depth ? "$" : "(/|$)"}` };
  return place(path.length > depth ? { ...rule, ...functionPart(first) } : rule);
}

/** What a click on the box of a node does. `isFiltered` says that the tree does not have all ops. */
export function boxChange(
  tree: OpTree,
  node: TreeNode,
  breakpoints: readonly Breakpoint[],
  isFiltered: boolean,
): BoxChange {
  const ops = tree.ops.slice(node.begin, node.end);
  const rule = isFiltered && node.op === undefined ? undefined : whereOfGroup(tree, node);
  const enabled = breakpoints.filter((one) => one.enabled);
  const there = enabled.filter(({ where }) => isOwn(where, ops, rule));
  const isWhole = boxState(marksOf(tree, breakpoints), node) === "all";
  if (isWhole && there.length > 0) return { kind: "remove", numbers: there.map(({ number }) => number) };
  if (isWhole) return refusedBy(enabled, ops);
  if (rule !== undefined) return { kind: "set", wheres: [rule] };
  const missing = ops.filter((op) => !enabled.some(({ where }) => fits(where)(op)));
  if (missing.length > MOST_AT_ONCE) {
    const sentence = `These are ${missing.length} ops, too many for a breakpoint each: choose a scope or a layer.`;
    return { kind: "refused", sentence };
  }
  return { kind: "set", wheres: missing.map(whereOf) };
}

function refusedBy(breakpoints: readonly Breakpoint[], ops: readonly ListedOp[]): BoxChange {
  const broader = breakpoints.find(({ where }) => ops.some(fits(where)));
  const sentence = `Breakpoint ${broader?.number} is broader than this: change it in the list of breakpoints.`;
  return { kind: "refused", sentence };
}

/** Whether a breakpoint is at just this group, or at just one of its ops. */
function isOwn(where: Where, ops: readonly ListedOp[], rule: Where | undefined): boolean {
  if (rule !== undefined && isSamePlace(where, rule)) return true;
  return where.op_name !== "" && ops.some((op) => op.name === where.op_name && fits(where)(op));
}
