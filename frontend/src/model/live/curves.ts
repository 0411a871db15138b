/** Curves of numbers over time, as paths of a picture: one number, with the band from min to max around it. */
import type { Measured } from "../../api/live";
import { bandOf, type CurveSize, marksOf, pathOf, placeOf, rangeOf } from "../curve_paths";
import type { NumberRange } from "../values/grid";
import { numberOf } from "./tensor_rows";

/** The numbers of a tensor that a curve can show. */
export type CurveNumber = "mean" | "min" | "max" | "range" | "std" | "nan" | "inf" | "zero";

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
  readonly range: NumberRange | undefined;
  /** The last known number. */
  readonly last: number | undefined;
}

const IN_BAND: readonly string[] = ["mean", "min", "max"];

export function liveCurve(points: readonly CurvePoint[], name: CurveNumber, size: CurveSize): LiveCurve {
  const values = points.map(({ numbers }) => numberOf(numbers, name));
  const hasBand = IN_BAND.includes(name);
  const [lows, highs] = [edge(points, "min", hasBand), edge(points, "max", hasBand)];
  const range = rangeOf([...values, ...lows, ...highs]);
  const place = range && placeOf(range, points.length, size);
  return {
    line: place === undefined ? "" : pathOf(values, place),
    band: place === undefined ? "" : bandOf(lows, highs, place),
    bad: marksOf(points.length, (i) => isBad(points[i]), size),
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

function isBad(point: CurvePoint | undefined): boolean {
  const numbers = point?.numbers ?? [];
  return (numberOf(numbers, "nan") ?? 0) + (numberOf(numbers, "inf") ?? 0) > 0;
}
