/** What of a value is shown: the slice that is drawn, and the words about it. */
import type { ValueInfo } from "../../api/answers";
import type { Part, ValueRef } from "../../api/values";
import { type Axis, firstSlice, type Plane, parseSlicing, planeOf, writeSlicing } from "./slicing";

export type Tab = "picture" | "table" | "curve";

/** A cell of the plane that is drawn. */
export interface Cell {
  readonly row: number;
  readonly column: number;
}

export interface ValueView {
  readonly ref: ValueRef;
  /** The value whose tensor the history is of. */
  readonly historyOf: ValueRef;
  readonly info: ValueInfo;
  /** Unlike that of another record, also when a run is recorded anew. */
  readonly edition: string;
  /** The text that the server gets. */
  readonly slicing: string;
  /** One for each dimension; undefined when the server must say what is wrong with the text. */
  readonly axes: readonly Axis[] | undefined;
  /** Undefined without `axes`, and for a slice of more than two dimensions. */
  readonly plane: Plane | undefined;
  readonly part: Part | undefined;
}

export interface Shown {
  readonly historyOf: ValueRef | undefined;
  readonly slicing: string | undefined;
  readonly isSwapped: boolean;
  readonly part: Part;
  /** How often values of running programs were changed. */
  readonly liveEdition: number;
}

export function viewOf(
  ref: ValueRef,
  info: ValueInfo,
  { historyOf, slicing, isSwapped, part, liveEdition }: Shown,
): ValueView {
  const shape = info.shape ?? [];
  const text = slicing ?? writeSlicing(firstSlice(shape.length));
  const axes = parseSlicing(text, shape.length);
  return {
    ref,
    historyOf: historyOf ?? ref,
    info,
    edition: [info.wall_time, ref.kind === "live" ? liveEdition : "", info.dtype, ...shape].join(" "),
    slicing: text,
    axes,
    plane: axes && planeOf(axes, shape, isSwapped),
    part: isComplex(info.dtype) ? part : undefined,
  };
}

const WITHOUT_NUMBERS = new Set(["string", "resource", "variant"]);

export function hasNumbers({ dtype }: ValueInfo): boolean {
  return dtype !== undefined && !WITHOUT_NUMBERS.has(dtype);
}

export function isComplex(dtype: string | undefined): boolean {
  return dtype?.startsWith("complex") === true;
}

/** A number that the reader typed: "1e-3", "-inf"; undefined for an empty text, NaN for what is none. */
export function typedNumber(text: string): number | undefined {
  const plain = text.trim().toLowerCase().replaceAll("−", "-").replace("∞", "inf");
  if (plain === "") return undefined;
  const infinite = /^([+-]?)inf(inity)?$/.exec(plain);
  if (infinite !== null) return infinite[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return Number(plain);
}

/** The text of a number as the server reads it. */
export function numberText(n: number | undefined): string | undefined {
  if (n === undefined) return undefined;
  return Number.isFinite(n) ? String(n) : n > 0 ? "inf" : "-inf";
}

/** The range of two typed texts; undefined when both are empty, "wrong" when one is no number. */
export function rangeTyped(texts: {
  readonly low: string;
  readonly high: string;
}): { readonly low: number | undefined; readonly high: number | undefined } | "wrong" | undefined {
  const [low, high] = [typedNumber(texts.low), typedNumber(texts.high)];
  if (Number.isNaN(low) || Number.isNaN(high)) return "wrong";
  return low === undefined && high === undefined ? undefined : { low, high };
}
