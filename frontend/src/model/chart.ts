/** Lines of a chart: their common axis, their scale, the points at a place, and the words for them. */
import { counted, significant } from "../base/text";
import type { NumberRange } from "./values/grid";

export type Values = readonly (number | undefined)[];

/** A number over time. Points that are not finite are gaps. */
export interface ChartLine {
  readonly label: string;
  /** Rising. */
  readonly x: readonly number[];
  readonly y: Values;
  /** The ends of a band around the line. */
  readonly low?: Values | undefined;
  readonly high?: Values | undefined;
  /** Points at which something is bad, which are marked. */
  readonly bad?: readonly boolean[] | undefined;
  /** Which of the looks of lines it has; from 0. */
  readonly look: number;
}

/** A place on the axis that is marked, with words. */
export interface ChartMark {
  readonly x: number;
  readonly words: string;
}

/** How heights grow with numbers. With negative numbers, a logarithmic scale is linear around 0. */
export type Scale = "linear" | "log" | "asinh";

const isKnown = (value: number | undefined): value is number => value !== undefined && Number.isFinite(value);

/** Of the finite values; undefined when there are none. */
export function rangeOf(values: Values): NumberRange | undefined {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!isKnown(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? { low, high } : undefined;
}

/** All numbers of the lines and of their bands. */
export function numbersOf(lines: readonly ChartLine[]): Values {
  return lines.flatMap(({ y, low = [], high = [] }) => [...y, ...low, ...high]);
}

export function scaleFor(lines: readonly ChartLine[], isLog: boolean): Scale {
  if (!isLog) return "linear";
  const isAnyBelow = numbersOf(lines).some((value) => isKnown(value) && value < 0);
  return isAnyBelow ? "asinh" : "log";
}

/** The smallest magnitude that is not 0, around which a scale with negative numbers is linear. */
export function smallestOf(lines: readonly ChartLine[]): number {
  const sizes = numbersOf(lines).flatMap((value) => (isKnown(value) && value !== 0 ? [Math.abs(value)] : []));
  return sizes.reduce((least, size) => Math.min(least, size), Number.POSITIVE_INFINITY);
}

/** Null ends a line; undefined is no point of it. */
export type Cell = number | null | undefined;

export interface Aligned {
  /** All places of the lines, rising, each once. */
  readonly x: readonly number[];
  /** Of each line: its numbers at all places, and those of its band. */
  readonly lines: readonly {
    readonly y: readonly Cell[];
    readonly low: readonly Cell[] | undefined;
    readonly high: readonly Cell[] | undefined;
  }[];
}

/** Gives all lines the same places. On a logarithmic scale, what is not above 0 is a gap. */
export function aligned(lines: readonly ChartLine[], scale: Scale): Aligned {
  const x = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const rowOf = new Map(x.map((at, row) => [at, row]));
  const spread = (line: ChartLine, values: Values | undefined) => {
    if (values === undefined) return undefined;
    const cells: Cell[] = new Array(x.length).fill(undefined);
    line.x.forEach((at, i) => {
      const value = values[i];
      cells[rowOf.get(at) ?? 0] = isKnown(value) && (scale !== "log" || value > 0) ? value : null;
    });
    return cells;
  };
  return {
    x,
    lines: lines.map((line) => ({
      y: spread(line, line.y) ?? [],
      low: spread(line, line.low),
      high: spread(line, line.high),
    })),
  };
}

/** The point of a line that is nearest to a place; undefined for a line without points. */
export function nearestPoint({ x }: Pick<ChartLine, "x">, to: number): number | undefined {
  let [low, high] = [0, x.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) < to) low = middle + 1;
    else high = middle;
  }
  if (x.length === 0) return undefined;
  const isBefore = low > 0 && to - (x[low - 1] ?? 0) <= (x[low] ?? 0) - to;
  return isBefore ? low - 1 : low;
}

/** How many points a key of the keyboard moves the cursor: some, or to an end. */
export function stepOfKey(key: string, points: number): number | undefined {
  const far = Math.max(1, Math.round(points / 10));
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    PageUp: -far,
    PageDown: far,
    Home: -points,
    End: points,
  };
  return steps[key];
}

/** The place of the cursor after a step along a line. */
export function stepped(line: ChartLine, from: number | undefined, by: number): number | undefined {
  const last = line.x.length - 1;
  // Without a cursor, a step to the right comes from the left.
  const at = from === undefined ? undefined : nearestPoint(line, from);
  const to = (at ?? (by > 0 ? -1 : last + 1)) + by;
  return line.x[Math.max(0, Math.min(last, to))];
}

/** "0.31", or "0.1 … 0.5" where a point stands for several. */
export function valueWords(line: ChartLine, point: number | undefined): string {
  if (point === undefined) return "";
  const [value, low, high] = [line.y[point], line.low?.[point], line.high?.[point]];
  if (value === undefined || Number.isNaN(value)) return "–";
  return isKnown(low) && isKnown(high) && low < high
    ? `${significant(low)} … ${significant(high)}`
    : significant(value);
}

/** "mean of a: 0.1 to 3 at 40 points, 2 bad", for screen readers. */
export function lineWords(line: ChartLine): string {
  const range = rangeOf(numbersOf([line]));
  const bad = line.bad?.filter(Boolean).length ?? 0;
  const numbers =
    range === undefined ? "no finite number" : `${significant(range.low)} to ${significant(range.high)}`;
  return [
    `${line.label}: ${numbers} at ${counted(line.x.length, "point")}`,
    ...(bad > 0 ? [`${bad} bad`] : []),
  ].join(", ");
}

/** About so many numbers of an axis. */
const SPLITS = 6;

/** The numbers that stand on an axis: round ones; on a logarithmic scale, powers of ten. */
export function axisSplits(scale: Scale, low: number, high: number): readonly number[] {
  if (scale === "linear") return roundSplits(low, high);
  const powers = (from: number, to: number) => {
    const [first, last] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
    const step = Math.max(1, Math.ceil((last - first) / SPLITS));
    const found: number[] = [];
    for (let at = first; at <= last; at += step) found.push(10 ** at);
    return found;
  };
  if (scale === "log") {
    const found = powers(low, high);
    return found.length > 1 ? found : roundSplits(low, high);
  }
  const most = Math.max(Math.abs(low), Math.abs(high));
  const sizes = most > 0 ? powers(most / 1e6, most) : [];
  return [...sizes.map((size) => -size).reverse(), 0, ...sizes].filter(
    (value) => value >= low && value <= high,
  );
}

/** Multiples of 1, 2 or 5 times a power of ten. */
function roundSplits(low: number, high: number): readonly number[] {
  const rough = (high - low) / SPLITS;
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((each) => each * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step);
  const found = Array.from({ length: 2 * SPLITS }, (_, i) => (first + i) * step);
  // Of numbers that hardly differ, several are the same in floating point.
  return [...new Set(found)].filter((value) => value >= low && value <= high);
}

/** The numbers of an axis, all in one style; null is left out. */
export function axisWords(values: readonly (number | null)[]): readonly string[] {
  const sizes = values.flatMap((value) => (value === null || value === 0 ? [] : [Math.abs(value)]));
  const most = Math.max(...sizes);
  const isPlain = sizes.length === 0 || (most < 1e6 && Math.min(...sizes) >= 1e-3);
  const words = (value: number) =>
    isPlain
      ? String(Number(value.toPrecision(6)))
      : value === 0
        ? "0"
        : Number(value.toPrecision(4)).toExponential();
  return values.map((value) =>
    value === null ? "" : words(value).replace(/^-/, "−").replace("e-", "e−").replace("e+", "e"),
  );
}
