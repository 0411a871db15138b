/** The picture of a whole graph: its layers or scopes, coloured by what was bad in them. */
import type { GraphOverview, GraphPart } from "../../api/answers";
import { counted } from "../../base/text";
import { displayName } from "../names";
import { type GraphNode, type GraphPicture, groupNote, lastPart, type Mark, UNKNOWN } from "./picture";

/** What a part of a whole graph is. */
export type Part = "layer" | "scope";

export interface Placed {
  readonly answer: GraphOverview;
  /** How many of the ops whose places were asked for are on the way of the bad value; the one in focus is after them. */
  readonly numOnWay: number;
}

export function wholePicture({ answer, numOnWay }: Placed): GraphPicture {
  const { parts, edges, places } = answer;
  const onWay = new Set(places.slice(0, numOnWay));
  const first = firstBad(parts);
  const focus = places.length > numOnWay ? places.at(-1) : undefined;
  const nodes = parts.map((part, at): GraphNode => {
    const node = nodeOf(part, answer);
    const isFirst = part === first;
    const mark = isFirst ? { ...node.mark, sign: "first bad" } : node.mark;
    return { ...node, mark, isFocus: at === focus, isOnWay: onWay.has(at), isFirst };
  });
  const keyAt = (at: number) => nodes[at]?.key ?? "";
  return {
    nodes,
    links: edges.map(({ source, target, tensors, bad }) => ({
      key: `${keyAt(source)} > ${keyAt(target)}`,
      from: keyAt(source),
      to: keyAt(target),
      kind: "inside",
      tensors: [],
      count: tensors,
      mark: bad > 0 ? badMark(`${bad} of ${counted(tensors, "tensor")} had NaN or ∞`) : NONE_BAD,
      isOnWay: isBeside(places.slice(0, numOnWay), source, target),
    })),
    leftOut: answer.ops_left_out > 0 ? leftOutWords(answer) : undefined,
  };
}

/** The part of which a tensor was bad first; undefined when none is. */
export function firstBad(parts: readonly GraphPart[]): GraphPart | undefined {
  const bad = parts.filter((part) => part.first_bad !== undefined);
  return bad.sort((a, b) => (a.first_bad ?? 0) - (b.first_bad ?? 0))[0];
}

/** Whether the way goes from one part to another without a stop between. */
function isBeside(way: readonly (number | undefined)[], source: number, target: number): boolean {
  return way.some((at, i) => at === source && way[i + 1] === target);
}

function leftOutWords({ parts_left_out, ops_left_out }: GraphOverview): string {
  return `${counted(parts_left_out, "box", "boxes")} with ${counted(ops_left_out, "op")} left out`;
}

const NONE_BAD: Mark = { level: "unknown", sign: "", words: "none of them bad" };

function badMark(words: string): Mark {
  return { level: "bad", sign: "bad", words };
}

function nodeOf(part: GraphPart, { graph_id }: GraphOverview): GraphNode {
  const { name, is_op, ops, bad_ops, op_name, op_type, first_bad } = part;
  return {
    key: `${is_op ? "op" : "part"} ${name}`,
    kind: is_op ? "op" : "group",
    name: name === "" ? "ops outside of any" : name,
    title: name === "" ? "(outside)" : lastPart(name),
    note: is_op ? displayName(op_type ?? "not recorded") : groupNote(ops, bad_ops),
    place: undefined,
    mark: markOfPart(part),
    target: { kind: "op", graph: graph_id, opName: op_name, graphExecution: first_bad },
    opens: is_op ? undefined : name,
    runs: part.runs.map(({ graph_id: graph, graph_name }) => ({ graph, name: graph_name ?? graph })),
    before: 0,
    after: 0,
    isFocus: false,
    isOnWay: false,
    isFirst: false,
  };
}

function markOfPart({ tensors, bad, first_bad }: GraphPart): Mark {
  if (tensors === 0) return UNKNOWN;
  if (bad === 0) return { level: "good", sign: "✓", words: `no NaN or ∞ in ${counted(tensors, "tensor")}` };
  return badMark(
    `${bad} of ${counted(tensors, "tensor")} had NaN or ∞, first in graph execution ${first_bad}`,
  );
}
