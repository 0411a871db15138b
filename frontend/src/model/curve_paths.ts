/** Curves of numbers over time as paths of a picture: lines, bands between two of them, and marks below. */
import type { NumberRange } from "./values/grid";

export interface CurveSize {
  readonly width: number;
  readonly height: number;
}

/** The height of the marks, and the space above and below the line. */
const STRIP = 4;
const MARGIN = 3;

/** Of the finite values; undefined when there are none. */
export function rangeOf(values: readonly (number | undefined)[]): NumberRange | undefined {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value === undefined || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? { low, high } : undefined;
}

/** How far to the right a point is: the first and the last are at the ends. */
export function xOf(i: number, n: number, width: number): number {
  return n > 1 ? (i * width) / (n - 1) : width / 2;
}

/** Where a value is in the picture. */
export type Place = (i: number, value: number) => string;

/** Where values of a range are in a picture of `n` of them. */
export function placeOf({ low, high }: NumberRange, n: number, { width, height }: CurveSize): Place {
  const tall = height - STRIP - 2 * MARGIN;
  return (i, value) => {
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return `${xOf(i, n, width).toFixed(1)},${(MARGIN + (1 - share) * tall).toFixed(1)}`;
  };
}

/** A line through the known values; one between two gaps is a dot. */
export function pathOf(values: readonly (number | undefined)[], place: Place): string {
  let isBroken = true;
  return values
    .map((value, i) => {
      if (value === undefined || !Number.isFinite(value)) {
        isBroken = true;
        return "";
      }
      const part = isBroken ? `M${place(i, value)}h0.01` : `L${place(i, value)}`;
      isBroken = false;
      return part;
    })
    .join("");
}

/** The area between two lines; a gap in one ends a part of it. */
export function bandOf(
  lows: readonly (number | undefined)[],
  highs: readonly (number | undefined)[],
  place: Place,
): string {
  const parts: string[] = [];
  let open: number[] = [];
  const close = () => {
    if (open.length > 1) {
      const there = open.map((i) => place(i, highs[i] ?? 0));
      const back = open.map((i) => place(i, lows[i] ?? 0)).reverse();
      parts.push(`M${[...there, ...back].join("L")}Z`);
    }
    open = [];
  };
  lows.forEach((low, i) => {
    if (low === undefined || highs[i] === undefined) close();
    else open.push(i);
  });
  close();
  return parts.join("");
}

/** Marks at the lower edge for some of `n` points. */
export function marksOf(n: number, isMarked: (i: number) => boolean, { width, height }: CurveSize): string {
  const wide = Math.max(1, (width / n) * 0.9);
  const from = (i: number) => Math.max(0, Math.min(width - wide, xOf(i, n, width) - wide / 2));
  const mark = (i: number) =>
    `M${from(i).toFixed(1)},${height - STRIP}h${wide.toFixed(1)}v${STRIP}h${(-wide).toFixed(1)}z`;
  return Array.from({ length: n }, (_, i) => (isMarked(i) ? mark(i) : "")).join("");
}
