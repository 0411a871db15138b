/** Places at which a program can stop: the parts of a `Where`, sentences for them, and what is at a place. */
import type { LineOps } from "../../api/answers";
import type { Breakpoint, LiveTensor, NewBreakpoint, Where } from "../../api/live";
import { basename, counted, escaped } from "../../base/text";
import { displayName, tensorName } from "../names";
import { ifWords, isCarried } from "./conditions";

/** The most ops that the mark of a line names. */
const NAMED = 6;

/** The name under which the graph of a session is recorded, which has none of its own. */
const SESSION_GRAPH = "tf.Graph";

/** Stands for all outputs of an op. */
export const ALL_SLOTS = -1;

const ANYWHERE: Where = {
  op_name: "",
  slot: ALL_SLOTS,
  op_type: "",
  name_regex: "",
  layer_regex: "",
  function_regex: "",
  path: "",
  line: 0,
  calls: false,
};

/** A place with these parts, and none of the others. */
export function place(parts: Partial<Where>): Where {
  return { ...ANYWHERE, ...parts };
}

export const atLine = (path: string, line: number): Where => place({ path, line });
export const atType = (opType: string): Where => place({ op_type: opType });

/** An op of a graph; without a slot, all of its outputs. A session has one graph: the name of its op is enough. */
export function atOp(opName: string, functionName: string | undefined, slot = ALL_SLOTS): Where {
  const pattern = functionName === SESSION_GRAPH ? "" : functionPattern(functionName);
  return place({ op_name: opName, slot, function_regex: pattern });
}

/** All ops of a graph. */
export const atGraph = (name: string): Where => place({ function_regex: functionPattern(name) });

/** The calls of a function from Python. */
export function atCalls(functionName: string): Where {
  return place({ calls: true, function_regex: functionPattern(functionName) });
}

/** The place of a tensor; an eager op has no name that a later call knows, so its type stands for it. */
export function atTensor(tensor: Pick<LiveTensor, "graph_id" | "op_name" | "op_type" | "slot" | "function">) {
  if (tensor.graph_id === "") return atType(tensor.op_type);
  return atOp(tensor.op_name, tensor.function, tensor.slot);
}

/**
 * A pattern for a function, because ops of two functions may have the same name. The next run of the program
 * has other numbers in its full name, so the name for people is sought where it occurs in the full one.
 */
function functionPattern(functionName = ""): string {
  const name = displayName(functionName);
  return escaped(functionName.includes(name) ? name : functionName);
}

export function isSamePlace(a: Where, b: Where): boolean {
  return (Object.keys(ANYWHERE) as (keyof Where)[]).every((part) => a[part] === b[part]);
}

/** "Log:0 in loss", "ops of type MatMul", "train.py:68", "calls of train_step". */
export function placeWords(where: Where): string {
  const parts = [mainWords(where), ...patternWords(where)].filter((part) => part !== "");
  if (where.calls) return ["calls", ...parts].join(" ");
  return parts.length === 0 ? "any tensor" : parts.join(" ");
}

function mainWords({ op_name, slot, op_type, path, line }: Where): string {
  const ofType = op_type === "" ? "" : `of type ${op_type}`;
  if (op_name !== "") return `${slot < 0 ? op_name : tensorName(op_name, slot)} ${ofType}`.trim();
  if (path !== "") return `${basename(path)}:${line} ${ofType}`.trim();
  return ofType === "" ? "" : `ops ${ofType}`;
}

function patternWords({ name_regex, layer_regex, function_regex, calls }: Where): readonly string[] {
  return [
    name_regex === "" ? "" : `named ${name_regex}`,
    layer_regex === "" ? "" : `in layer ${layer_regex}`,
    function_regex === "" ? "" : `${calls ? "of" : "in"} ${function_regex}`,
  ];
}

/** "Log:0 in loss if it contains NaN", or the label of the user. */
export function breakpointWords({
  where,
  condition,
  label,
  log_only,
}: Pick<NewBreakpoint, "where" | "condition" | "label" | "log_only">): string {
  const at = placeWords(place(where));
  const words = label || (condition === "" ? at : `${at} ${ifWords(condition)}`);
  return log_only ? `log ${words}` : words;
}

/** The breakpoints on lines of a file, by line. */
export function breakpointsOfFile(
  breakpoints: readonly Breakpoint[],
  path: string,
): ReadonlyMap<number, Breakpoint> {
  const here = breakpoints.filter(({ where }) => where.path === path && where.line > 0);
  // Of several on a line, one that is on is shown.
  const sorted = [...here].sort((a, b) => Number(a.enabled) - Number(b.enabled));
  return new Map(sorted.map((breakpoint) => [breakpoint.where.line, breakpoint]));
}

/** A mark beside a source line: a breakpoint, or that the program can stop there. */
export interface LineMark {
  readonly kind: "on" | "off" | "problem" | "possible";
  readonly title: string;
}

/** The marks of the lines of a file, by line; `made` is what its lines made and ran. */
export function lineMarks(
  breakpoints: readonly Breakpoint[],
  path: string,
  made: readonly LineOps[],
): ReadonlyMap<number, LineMark> {
  const marks = new Map<number, LineMark>();
  for (const line of made) marks.set(line.line, { kind: "possible", title: madeWords(line) });
  for (const [line, breakpoint] of breakpointsOfFile(breakpoints, path)) {
    const ops = marks.get(line)?.title;
    const words = [breakpointWords(breakpoint), breakpoint.problem, breakpoint.note, ops]
      .filter(Boolean)
      .join(" · ");
    const isOff = breakpoint.enabled ? "on" : "off";
    marks.set(line, { kind: breakpoint.problem === "" ? isOff : "problem", title: words });
  }
  return marks;
}

/** "3 ops: Log, mul, Mean", "ran 40 ops from Python" */
function madeWords({ num_ops, executions, ops }: LineOps): string {
  const names = ops.slice(0, NAMED).map(({ op_name }) => basename(op_name));
  const more = num_ops > names.length ? ", …" : "";
  return [
    num_ops > 0 ? `${counted(num_ops, "op")}: ${names.join(", ")}${more}` : "",
    executions > 0 ? `ran ${counted(executions, "op or function", "ops and functions")} from Python` : "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

/** The breakpoint at a place. One on an op counts for all of its outputs, with and without its function. */
export function breakpointAt(breakpoints: readonly Breakpoint[], wanted: Where): Breakpoint | undefined {
  return breakpoints.find(({ where }) => {
    if (wanted.op_name === "" || where.op_name !== wanted.op_name) return isSamePlace(where, wanted);
    return where.function_regex === "" || where.function_regex === wanted.function_regex;
  });
}

/** A new breakpoint that stops each time, except for NaN and infinities that are carried on. */
export function newBreakpoint(
  where: Partial<Where>,
  condition = "",
  first_only = isCarried(condition),
  log_only = false,
): NewBreakpoint {
  return { where: place(where), condition, ignore: 0, enabled: true, label: "", first_only, log_only };
}

/** A breakpoint as it is sent to change it. */
export function changed(breakpoint: Breakpoint, by: Partial<NewBreakpoint>): NewBreakpoint {
  const { number, where, condition, ignore, enabled, label, first_only, log_only } = breakpoint;
  return { number, where, condition, ignore, enabled, label, first_only, log_only, ...by };
}
