/** Curves of numbers over time, as paths of a picture: one number, with the band from min to max around it. */
import type { Measured } from "../../api/live";
import { numberOf } from "./tensor_rows";

/** The numbers of a tensor that a curve can show. */
export const CURVE_NUMBERS = ["mean", "min", "max", "range", "std", "nan", "inf", "zero"] as const;
export type CurveNumber = (typeof CURVE_NUMBERS)[number];

/** The numbers of one occurrence, in the order of time. */
export interface CurvePoint {
  readonly call: number;
  readonly numbers: readonly Measured[];
}

export interface LiveCurve {
  /** The chosen number, where it is known. */
  readonly line: string;
  /** The area between min and max; empty for other numbers than those and the mean. */
  readonly band: string;
  /** Marks at the lower edge for occurrences with NaN or infinity. */
  readonly bad: string;
  /** Of what is drawn; undefined without any number. */
  readonly range: { readonly low: number; readonly high: number } | undefined;
  /** The last known number. */
  readonly last: number | undefined;
}

export interface CurveSize {
  readonly width: number;
  readonly height: number;
}

const IN_BAND: readonly string[] = ["mean", "min", "max"];
/** The height of the marks of bad occurrences, and the space above and below the line. */
const STRIP = 4;
const MARGIN = 3;

export function liveCurve(points: readonly CurvePoint[], name: CurveNumber, size: CurveSize): LiveCurve {
  const values = points.map(({ numbers }) => numberOf(numbers, name));
  const hasBand = IN_BAND.includes(name);
  const [lows, highs] = [edge(points, "min", hasBand), edge(points, "max", hasBand)];
  const range = rangeOf([...values, ...lows, ...highs]);
  const place = range && placeOf(range, points.length, size);
  return {
    line: place === undefined ? "" : pathOf(values, place),
    band: place === undefined ? "" : bandOf(lows, highs, place),
    bad: marksOf(points, size),
    range,
    last: values.findLast((value) => value !== undefined),
  };
}

function edge(
  points: readonly CurvePoint[],
  name: string,
  isDrawn: boolean,
): readonly (number | undefined)[] {
  return isDrawn ? points.map(({ numbers }) => numberOf(numbers, name)) : [];
}

function rangeOf(values: readonly (number | undefined)[]): LiveCurve["range"] {
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
type Place = (i: number, value: number) => string;

function placeOf(
  { low, high }: { low: number; high: number },
  n: number,
  { width, height }: CurveSize,
): Place {
  const tall = height - STRIP - 2 * MARGIN;
  return (i, value) => {
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return `${xOf(i, n, width).toFixed(1)},${(MARGIN + (1 - share) * tall).toFixed(1)}`;
  };
}

/** A line through the known values; one between two gaps is a dot. */
function pathOf(values: readonly (number | undefined)[], place: Place): string {
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
function bandOf(
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

function marksOf(points: readonly CurvePoint[], { width, height }: CurveSize): string {
  const wide = Math.max(1, (width / points.length) * 0.9);
  const from = (i: number) => Math.max(0, Math.min(width - wide, xOf(i, points.length, width) - wide / 2));
  return points
    .map(({ numbers }, i) => {
      const isBad = (numberOf(numbers, "nan") ?? 0) + (numberOf(numbers, "inf") ?? 0) > 0;
      if (!isBad) return "";
      return `M${from(i).toFixed(1)},${height - STRIP}h${wide.toFixed(1)}v${STRIP}h${(-wide).toFixed(1)}z`;
    })
    .join("");
}
