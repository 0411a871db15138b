/** The history of a tensor as paths of a picture: the health of each occurrence, and the curve of an element. */

import { type ColumnPage, numberAt } from "../../api/columns";
import { pathOf, rangeOf } from "../curve_paths";
import type { NumberRange } from "./grid";

export interface HistoryCurve {
  /** Marks at the lower edge for occurrences without and with bad elements. */
  readonly good: string;
  readonly bad: string;
  /** The element, where it is finite. */
  readonly line: string;
  /** Marks for occurrences that are kept and in which the element is not finite. */
  readonly notFinite: string;
  /** Of the element; undefined when there are no finite values. */
  readonly range: NumberRange | undefined;
}

/** The height of the marks for the health. */
const STRIP = 5;
const BAD = 2;

export function historyCurve(page: ColumnPage, width: number, height: number): HistoryCurve {
  const n = page.end - page.begin;
  const step = width / Math.max(1, n);
  const values = Array.from({ length: n }, (_, i) => page.columns.get("value")?.[i]);
  const range = rangeOf(values);
  const mark = (i: number, top: number, tall: number) =>
    `M${(i * step).toFixed(2)},${top}h${Math.max(1, step * 0.9).toFixed(2)}v${tall}h${-Math.max(1, step * 0.9).toFixed(2)}z`;
  const marks = (which: (i: number) => boolean, top: number, tall: number) =>
    values.map((_, i) => (which(i) ? mark(i, top, tall) : "")).join("");
  const isBad = (i: number) => numberAt(page, "health", i) === BAD;
  const isKept = (i: number) => numberAt(page, "is_kept", i) === 1;
  return {
    good: marks((i) => !isBad(i), height - STRIP, STRIP),
    bad: marks(isBad, height - STRIP, STRIP),
    line: range === undefined ? "" : lineOf(values, range, step, height - STRIP - 4),
    notFinite: marks((i) => isKept(i) && values[i] !== undefined && !Number.isFinite(values[i]), 0, STRIP),
    range,
  };
}

/** A line through the finite values; a value between two gaps is a short dash. */
function lineOf(
  values: readonly (number | undefined)[],
  { low, high }: NumberRange,
  step: number,
  height: number,
): string {
  const heightOf = (value: number) =>
    2 + (high > low ? 1 - (value - low) / (high - low) : 0.5) * (height - 4);
  return pathOf(values, (i, value) => `${((i + 0.5) * step).toFixed(2)},${heightOf(value).toFixed(2)}`);
}
