/** Curves of numbers over the times that a program computed a tensor, as lines of a chart. */
import type { Measured } from "../../api/live";
import type { ChartLine } from "../chart";
import { numberOf } from "./tensor_rows";

/** The numbers of a tensor that a curve can show. */
export type CurveNumber = "mean" | "min" | "max" | "range" | "std" | "nan" | "inf" | "zero";

/** The numbers of one occurrence, in the order of time. */
export interface CurvePoint {
  readonly call: number;
  readonly numbers: readonly Measured[];
}

const IN_BAND: readonly string[] = ["mean", "min", "max"];

/** A number at each time, with the band from min to max around it where it lies between them. */
export function liveLine(label: string, points: readonly CurvePoint[], name: CurveNumber): ChartLine {
  const numbers = (of: string) => points.map((point) => numberOf(point.numbers, of));
  const hasBand = IN_BAND.includes(name);
  return {
    label,
    x: points.map((_, i) => i),
    y: numbers(name),
    low: hasBand ? numbers("min") : undefined,
    high: hasBand ? numbers("max") : undefined,
    bad: points.map(
      (point) => (numberOf(point.numbers, "nan") ?? 0) + (numberOf(point.numbers, "inf") ?? 0) > 0,
    ),
    look: 0,
  };
}
