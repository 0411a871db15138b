/** The picture of an op and the ops some hops around it, with those of a scope or layer as one box. */
import type { Edge, NearOp, Neighbours } from "../../api/answers";
import { counted } from "../../base/text";
import { fromWire, NOTHING_KNOWN, type Summary } from "../health";
import { displayName, shapeText } from "../names";
import type { Target } from "../neighbourhood";
import { placeKey } from "../origin";
import { isBackward } from "../role";
import {
  type GraphLink,
  type GraphNode,
  type GraphPicture,
  type GraphTensor,
  groupNote,
  lastPart,
  markOf,
  worst,
} from "./picture";

/** What is one box: each op, or all ops of a scope or of a layer. */
export type Grouping = "op" | "scope" | "layer";

export interface Look {
  readonly by: Grouping;
  /** The keys of the groups that are open. */
  readonly opened: ReadonlySet<string>;
  /** The ops and executions on the way of the bad value, from its birth on. */
  readonly way: readonly string[];
}

/** The op in focus is the first one of the answer, and a box of its own. */
export function nearPicture(answer: Neighbours, look: Look): GraphPicture {
  const { ops, edges } = answer;
  const way = wayThrough(
    ops.map((op) => keyOf(op)),
    edges,
    look.way,
  );
  const boxes = boxesOf(ops, look);
  const keyAt = new Map([...boxes].flatMap(([key, inside]) => inside.map((at) => [at, key] as const)));
  const nodes = [...boxes].map(([key, inside]) => nodeOf(key, inside, ops, way.ops));
  return {
    nodes,
    links: [...tensorLinks(answer, keyAt, way.edges), ...controlLinks(answer, keyAt)],
    leftOut: answer.truncated ? `only the ${counted(ops.length, "nearest op")} of these hops` : undefined,
  };
}

function keyOf({ graph_id, op_name }: NearOp): string {
  return `op ${graph_id} ${op_name}`;
}

/** The positions of the ops in each box, by its key; a group of one op is that op. */
function boxesOf(ops: readonly NearOp[], look: Look): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>();
  ops.forEach((op, at) => {
    const key = (at > 0 ? groupOf(op, look) : undefined) ?? keyOf(op);
    groups.set(key, [...(groups.get(key) ?? []), at]);
  });
  return new Map(
    [...groups].map(([key, inside]) => {
      const [one] = inside;
      const isAlone = inside.length === 1 && one !== undefined;
      return [isAlone ? keyOf(ops[one] as NearOp) : key, inside];
    }),
  );
}

/**
 * The outermost group around an op that is not open. Those before and after the op in focus are apart, so that
 * links go one way.
 */
function groupOf(op: NearOp, { by, opened }: Look): string | undefined {
  const side = op.distance < 0 ? "before" : "after";
  const parts = groupPath(op, by);
  for (let n = 1; n <= parts.length; n++) {
    const key = `group ${op.graph_id} ${side} ${parts.slice(0, n).join("/")}`;
    if (!opened.has(key)) return key;
  }
  return undefined;
}

function groupPath({ op_name, layer }: NearOp, by: Grouping): readonly string[] {
  if (by === "scope") return op_name.split("/").slice(0, -1);
  if (by === "op" || layer === undefined) return [];
  return [isBackward(op_name) ? `∇ ${layer}` : layer];
}

function nodeOf(
  key: string,
  inside: readonly number[],
  ops: readonly NearOp[],
  way: ReadonlySet<number>,
): GraphNode {
  const members = inside.map((at) => ops[at] as NearOp);
  const [first] = members as [NearOp];
  const isOp = members.length === 1;
  const marks = members.map((op) => worst(op.outputs.map((output) => markOf(summaryOf(output)))));
  const name = isOp ? first.op_name : key.split(" ").slice(3).join(" ");
  const bad = marks.filter(({ level }) => level === "bad").length;
  const isElsewhere = first.graph_id !== ops[0]?.graph_id;
  return {
    key,
    kind: isOp ? "op" : "group",
    name,
    title: lastPart(name),
    note: isOp ? displayName(first.op_type ?? "not recorded") : groupNote(members.length, bad),
    place: isElsewhere ? displayName(first.graph_name ?? first.graph_id) : undefined,
    mark: worst(marks),
    target: isOp ? targetOf(first) : { kind: "nowhere" },
    opens: isOp ? undefined : key,
    runs: isOp
      ? first.runs.map(({ graph_id, graph_name }) => ({ graph: graph_id, name: graph_name ?? graph_id }))
      : [],
    before: sum(members.map((op) => op.inputs_left_out)),
    after: sum(members.map((op) => op.consumers_left_out)),
    isFocus: inside.includes(0),
    isOnWay: inside.some((at) => way.has(at)),
    isFirst: false,
  };
}

function targetOf(op: NearOp): Target {
  const graphExecution = op.outputs
    .map(({ health }) => health?.graph_execution_index)
    .find((at) => at !== undefined);
  return { kind: "op", graph: op.graph_id, opName: op.op_name, graphExecution };
}

function summaryOf({ dtype, shape, health }: NearOp["outputs"][number]): Summary {
  const measured = fromWire(health) ?? NOTHING_KNOWN;
  const built = shape === undefined ? undefined : shapeText(shape);
  return { ...measured, dtype: measured.dtype ?? dtype, shape: measured.shape ?? built };
}

interface Drawn extends Pick<GraphLink, "from" | "to" | "kind"> {
  readonly tensors: GraphTensor[];
  isOnWay: boolean;
}

/** One link for all tensors from one box to another that cross the same way. */
function tensorLinks(
  { ops, edges }: Neighbours,
  keyAt: ReadonlyMap<number, string>,
  way: ReadonlySet<Edge>,
): readonly GraphLink[] {
  const links = new Map<string, Drawn>();
  for (const edge of edges) {
    const [from, to] = [keyAt.get(edge.source), keyAt.get(edge.target)];
    if (from === undefined || to === undefined || from === to) continue;
    const kind = edge.call === "into" || edge.call === "out" ? edge.call : "inside";
    const key = `${from} > ${to} ${kind}`;
    const link = links.get(key) ?? { from, to, kind, tensors: [], isOnWay: false };
    link.tensors.push(tensorOf(ops[edge.source] as NearOp, edge));
    link.isOnWay ||= way.has(edge);
    links.set(key, link);
  }
  return [...links].map(([key, link]) => ({
    ...link,
    key,
    count: link.tensors.length,
    mark: worst(link.tensors.map(({ mark }) => mark)),
  }));
}

function tensorOf(source: NearOp, { output_slot, input_slot }: Edge): GraphTensor {
  const output = source.outputs[output_slot];
  const summary = output === undefined ? NOTHING_KNOWN : summaryOf(output);
  const words = [summary.dtype, summary.shape].filter(Boolean).join(" ");
  return { output: output_slot, input: input_slot, words, mark: markOf(summary) };
}

function controlLinks(
  { control_edges }: Neighbours,
  keyAt: ReadonlyMap<number, string>,
): readonly GraphLink[] {
  const pairs = control_edges.map(({ source, target }) => [keyAt.get(source), keyAt.get(target)] as const);
  const links = pairs.flatMap(([from, to]) => {
    if (from === undefined || to === undefined || from === to) return [];
    const key = `${from} > ${to} control`;
    return [
      [key, { key, from, to, kind: "control", tensors: [], count: 0, mark: worst([]), isOnWay: false }],
    ] as const;
  });
  return [...new Map(links).values()];
}

/** The keys of the way of a bad value, from its birth on. */
export function wayKeys(steps: readonly { readonly target: Target }[]): readonly string[] {
  return [...steps].reverse().flatMap(({ target }) => placeKey(target) ?? []);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

interface Between {
  readonly source: number;
  readonly target: number;
}

/** Ops between two of the chain, which only pass the value on. */
const MOST_BETWEEN = 8;

/**
 * The positions of the ops on the way, and the edges between them. `keys` are those of the ops, and `way` those
 * of the chain from the birth on, some of which may be elsewhere.
 */
export function wayThrough<E extends Between>(
  keys: readonly string[],
  edges: readonly E[],
  way: readonly string[],
): { readonly ops: ReadonlySet<number>; readonly edges: ReadonlySet<E> } {
  const ops = new Set(way.map((key) => keys.indexOf(key)).filter((at) => at >= 0));
  const found = new Set<E>();
  const after = new Map<number, E[]>();
  for (const edge of edges) after.set(edge.source, [...(after.get(edge.source) ?? []), edge]);
  way.forEach((key, i) => {
    const [from, to] = [keys.indexOf(key), keys.indexOf(way[i + 1] ?? "")];
    if (from < 0 || to < 0) return;
    for (const edge of shortest(from, to, after)) {
      found.add(edge);
      ops.add(edge.source).add(edge.target);
    }
  });
  return { ops, edges: found };
}

/** The edges of the shortest way; none when it is too long. */
function shortest<E extends Between>(
  from: number,
  to: number,
  after: ReadonlyMap<number, readonly E[]>,
): readonly E[] {
  const last = new Map<number, E | undefined>([[from, undefined]]);
  let front = [from];
  for (let n = 0; n <= MOST_BETWEEN && !last.has(to); n++) {
    const edges = front.flatMap((at) => after.get(at) ?? []).filter(({ target }) => !last.has(target));
    for (const edge of edges) if (!last.has(edge.target)) last.set(edge.target, edge);
    front = [...new Set(edges.map(({ target }) => target))];
  }
  const way: E[] = [];
  for (let edge = last.get(to); edge !== undefined; edge = last.get(edge.source)) way.unshift(edge);
  return way;
}
