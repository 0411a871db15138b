/** Curves of tensors: which numbers there are and what they are called, and curves as lines of a chart. */
import type { Curve, CurveSource } from "../api/curves";
import { clock, grouped } from "../base/text";
import type { ChartLine } from "./chart";
import { displayName } from "./names";
import { writeRef } from "./values/value_ref";

/** The numbers of a tensor and their words, the most telling ones first. */
export const NUMBER_WORDS: Readonly<Record<string, string>> = {
  norm: "norm",
  mean: "mean",
  std: "standard deviation",
  rms: "root mean square",
  min: "minimum",
  max: "maximum",
  largest: "largest magnitude",
  zero_share: "share of zeros",
  bad: "number of NaN and ±∞",
  nan: "number of NaN",
  neg_inf: "number of −∞",
  pos_inf: "number of +∞",
  zero: "number of zeros",
  negative: "number of negative values",
  positive: "number of positive values",
  size: "number of elements",
};

export type AxisName = keyof typeof AXES;

/** What the horizontal axis may be, by name: its words, the column of a curve that it is, and what is added. */
export const AXES = {
  /** Counted from 1, as everywhere on the page. */
  occurrence: {
    title: "occurrence",
    column: "occurrence",
    offset: 1,
    isTime: false,
    place: (x: number) => `occurrence ${grouped(x)}`,
  },
  step: {
    title: "step",
    column: "step",
    offset: 0,
    isTime: false,
    place: (x: number) => `step ${grouped(x)}`,
  },
  time: { title: "time", column: "wall_time", offset: 0, isTime: true, place: (x: number) => clock(x) },
} as const;

/** A curve, and what it is of. */
export interface DrawnCurve {
  readonly source: CurveSource;
  readonly curve: Curve;
}

/** The text that tells what a curve is of, unlike that of other tensors. */
export function sourceKey(source: CurveSource): string {
  return source.kind === "variable" ? `${source.of} ${source.name}` : writeRef(source);
}

/** The name of what a curve is of. */
export function curveName({ source, curve: { tensor } }: DrawnCurve): string {
  if (source.kind === "variable")
    return source.of === "value" ? source.name : `${source.name} · ${source.of}`;
  return displayName(tensor.name);
}

/** The tensors that differ, each once: two values may be occurrences of the same one. */
export function withoutRepeats(curves: readonly DrawnCurve[]): readonly DrawnCurve[] {
  const seen = new Set<string>();
  return curves.filter(({ curve: { tensor, number, total } }) => {
    const key = JSON.stringify([tensor.name, tensor.graph_id, tensor.op_type, number, total]);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

/** The numbers that any of the tensors has on record, without `element`. */
export function recordedNumbers(curves: readonly DrawnCurve[]): readonly string[] {
  const known = new Set(curves.flatMap(({ curve }) => curve.numbers));
  return Object.keys(NUMBER_WORDS).filter((name) => known.has(name));
}

/** The number that is drawn of all: the one that is wanted if any of them has it, or else the most telling one. */
export function chosenNumber(curves: readonly DrawnCurve[], wanted: string | undefined): string | undefined {
  const known = recordedNumbers(curves);
  const isElement =
    wanted?.startsWith("[") === true && curves.some(({ curve }) => curve.numbers.includes("element"));
  return wanted !== undefined && (isElement || known.includes(wanted))
    ? wanted
    : (mostTelling(curves, known) ?? curves[0]?.curve.number);
}

/** The first of the numbers, but of counts only, those of what is bad, where anything is. */
function mostTelling(
  curves: readonly DrawnCurve[],
  [first, ...others]: readonly string[],
): string | undefined {
  const hasBad = curves.some(({ curve }) => columnOf(curve, "bad").some((bad) => bad > 0));
  return first === "zero_share" && hasBad && others.includes("bad") ? "bad" : first;
}

function columnOf(curve: Curve, name: string): readonly number[] {
  return Array.from(curve.columns.get(name) ?? []);
}

/** Where the points of a curve are on an axis. */
function placesOf(curve: Curve, axis: AxisName): readonly number[] {
  const { column, offset } = AXES[axis];
  return columnOf(curve, column).map((value) => value + offset);
}

/** A curve as a line of a chart, with a band where points stand for several occurrences. */
export function lineOf(drawn: DrawnCurve, axis: AxisName, look: number): ChartLine {
  const { curve } = drawn;
  const hasBand = curve.is_reduced && !curve.is_sampled;
  return {
    label: curveName(drawn),
    x: placesOf(curve, axis),
    y: columnOf(curve, "mean"),
    low: hasBand ? columnOf(curve, "low") : undefined,
    high: hasBand ? columnOf(curve, "high") : undefined,
    bad: columnOf(curve, "bad").map((bad) => bad > 0),
    look,
  };
}

/** Where an occurrence is on an axis: at the last point that is not after it; undefined if it is not seen. */
export function placeOf(curve: Curve, axis: AxisName, occurrence: number): number | undefined {
  if (occurrence < curve.begin || occurrence >= curve.end) return undefined;
  if (axis === "occurrence") return occurrence + AXES.occurrence.offset;
  const at = columnOf(curve, "occurrence").findLastIndex((each) => each <= occurrence);
  return placesOf(curve, axis)[Math.max(0, at)];
}

/** A range of occurrences of a tensor. */
export interface Span {
  /** The key of its source: another tensor has another range. */
  readonly of: string;
  readonly begin: number;
  readonly end: number;
}

/** The occurrences of a range of an axis; undefined for less than two. */
export function spanOf(
  { source, curve }: DrawnCurve,
  axis: AxisName,
  { from, to }: { readonly from: number; readonly to: number },
): Span | undefined {
  const places = placesOf(curve, axis);
  const inside = columnOf(curve, "occurrence").filter((_, i) => {
    const place = places[i] ?? Number.NaN;
    return place >= from && place <= to;
  });
  const isCounted = axis === "occurrence";
  const first = isCounted ? Math.ceil(from) - AXES.occurrence.offset : inside[0];
  const last = isCounted ? Math.floor(to) - AXES.occurrence.offset : inside.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const [begin, end] = [Math.max(0, first), Math.min(curve.total, last + 1)];
  return end - begin >= 2 ? { of: sourceKey(source), begin, end } : undefined;
}
