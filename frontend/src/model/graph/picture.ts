/** A part of a graph as boxes with links between them: ops, or groups of ops, and the tensors that they give. */

import type { GraphId } from "../../base/ids";
import { counted } from "../../base/text";
import { badWords, isBad, type Summary, summaryWords } from "../health";
import type { Target } from "../neighbourhood";

/** How a tensor, or the worst one of several, is: a sign, a colour and words. */
export interface Mark {
  readonly level: "bad" | "zero" | "good" | "unknown";
  /** "NaN", "∞", "0", "✓", "–" */
  readonly sign: string;
  readonly words: string;
}

export const UNKNOWN: Mark = { level: "unknown", sign: "–", words: "not measured" };

/** The levels from the best to the worst. */
const LEVELS = ["unknown", "good", "zero", "bad"] as const;

export interface GraphNode {
  readonly key: string;
  readonly kind: "op" | "group";
  /** "dense_1/MatMul" */
  readonly name: string;
  /** The end of the name. */
  readonly title: string;
  /** "MatMul", or "12 ops, 3 bad". */
  readonly note: string;
  /** The function that it is in, where that is not the one of the whole picture. */
  readonly place: string | undefined;
  readonly mark: Mark;
  /** Where a click on an op leads; of a part of a whole graph, its op that was bad first. */
  readonly target: Target;
  /** What a click opens, of a group. */
  readonly opens: string | undefined;
  /** The functions that it runs. */
  readonly runs: readonly { readonly graph: GraphId; readonly name: string }[];
  /** How many ops it takes tensors from, and gives tensors to, that are not in the picture. */
  readonly before: number;
  readonly after: number;
  readonly isFocus: boolean;
  /** Whether it is on the way of the bad value that is explained. */
  readonly isOnWay: boolean;
  /** Whether the first bad value of the picture was computed in it. */
  readonly isFirst: boolean;
}

export interface GraphTensor {
  readonly output: number;
  readonly input: number;
  /** "float32 [2, 3]" */
  readonly words: string;
  readonly mark: Mark;
}

export interface GraphLink {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  /** Whether it crosses into or out of a function, or has no tensor. */
  readonly kind: "inside" | "into" | "out" | "control";
  /** The tensors, if they are known one by one. */
  readonly tensors: readonly GraphTensor[];
  /** The number of tensors. */
  readonly count: number;
  readonly mark: Mark;
  readonly isOnWay: boolean;
}

export interface GraphPicture {
  readonly nodes: readonly GraphNode[];
  readonly links: readonly GraphLink[];
  /** What is drawn, when it is not all that was asked for: "only the 150 nearest ops of these hops". */
  readonly leftOut: string | undefined;
}

export function markOf(summary: Summary | undefined): Mark {
  if (summary === undefined || (summary.bad === undefined && !isBad(summary))) return UNKNOWN;
  const { counts, size } = summary;
  if (isBad(summary)) return { level: "bad", sign: badSign(summary), words: badWords(summary) };
  const isZero = size !== undefined && size > 0 && counts.zero === size;
  const words = summaryWords(summary);
  return isZero ? { level: "zero", sign: "0", words: "all zero" } : { level: "good", sign: "✓", words };
}

function badSign({ counts }: Summary): string {
  if ((counts.nan ?? 0) > 0) return "NaN";
  return (counts.pos_inf ?? 0) + (counts.neg_inf ?? 0) > 0 ? "∞" : "NaN, ∞";
}

/** The worst of some marks, the first of several. */
export function worst(marks: readonly Mark[]): Mark {
  return marks.reduce((a, b) => (LEVELS.indexOf(b.level) > LEVELS.indexOf(a.level) ? b : a), UNKNOWN);
}

/** "a/b" -> "b"; "∇ a/b", a part of a gradient, -> "∇ b" */
export function lastPart(name: string): string {
  const last = name.slice(name.lastIndexOf("/") + 1);
  return name.startsWith("∇ ") && !last.startsWith("∇ ") ? `∇ ${last}` : last;
}

/** "12 ops, 3 bad" */
export function groupNote(ops: number, bad: number): string {
  return bad > 0 ? `${counted(ops, "op")}, ${bad} bad` : counted(ops, "op");
}

/** The words on a link, line by line. */
export function linkLines({ tensors, count, mark }: GraphLink): readonly string[] {
  const [one] = tensors;
  if (one !== undefined && count === 1) {
    const slots = `:${one.output} → ${one.input}  ${one.mark.sign}`;
    return one.words === "" ? [slots] : [slots, one.words];
  }
  return count === 0 ? [] : [`${counted(count, "tensor")}  ${mark.sign}`.trim()];
}

/** The whole link in words, for tooltips and screen readers. */
export function linkWords({ kind, tensors, count, mark }: GraphLink): string {
  if (kind === "control") return "runs before, and gives no tensor";
  const across = kind === "inside" ? [] : [kind === "into" ? "into a function" : "out of a function"];
  const each = tensors.map(
    (one) => `output ${one.output} as input ${one.input}: ${one.words} ${one.mark.words}`,
  );
  const all = each.length > 0 ? each : [`${counted(count, "tensor")}, ${mark.words}`];
  return [...across, ...all].join("\n");
}

/** What a box says to a screen reader, and what a click on it does. */
export function nodeWords(node: GraphNode): string {
  const { kind, name, note, place, mark, before, after, isFocus, isOnWay, isFirst } = node;
  return [
    name,
    note,
    place && `in ${place}`,
    mark.words,
    isFocus && "in focus",
    isFirst && "has the first bad value",
    isOnWay && "on the way of the bad value",
    before > 0 && `${counted(before, "more op")} before it`,
    after > 0 && `${counted(after, "more op")} after it`,
    kind === "group" && "a click opens it",
  ]
    .filter(Boolean)
    .join(" · ");
}
