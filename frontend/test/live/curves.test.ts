import { describe, expect, test } from "vitest";
import { expressionOfChange } from "../../src/model/live/changes";
import { type CurvePoint, liveCurve } from "../../src/model/live/curves";

const SIZE = { width: 100, height: 50 };
const point = (call: number, numbers: Record<string, number | undefined>): CurvePoint => ({
  call,
  numbers: Object.entries(numbers).map(([name, value]) => ({ name, value })),
});

describe("a live curve", () => {
  const points = [point(0, { min: -1, mean: 0, max: 1 }), point(1, { min: 0, mean: 2, max: 3 })];

  test("has the mean between min and max", () => {
    const { line, band, range, last } = liveCurve(points, "mean", SIZE);
    expect(range).toEqual({ low: -1, high: 3 });
    expect(last).toBe(2);
    expect(line).toBe("M0.0,33.0h0.01L100.0,13.0");
    expect(band).toBe("M0.0,23.0L100.0,3.0L100.0,33.0L0.0,43.0Z");
  });

  test("of another number has no band", () => {
    const { band, range } = liveCurve(points, "range", SIZE);
    expect([band, range]).toEqual(["", { low: 2, high: 3 }]);
  });

  test("is broken where the number is not known", () => {
    const gap = [...points, point(2, {}), point(3, { mean: 1 })];
    expect(liveCurve(gap, "mean", SIZE).line.match(/M/g)).toHaveLength(2);
  });

  test("marks the times with NaN or infinity", () => {
    const bad = [
      point(0, { nan: 0, ninf: 0, pinf: 0 }),
      point(1, { nan: 1 }),
      point(2, { ninf: 0, pinf: 2 }),
    ];
    expect(liveCurve(bad, "mean", SIZE).bad).toBe("M35.0,46h30.0v4h-30.0zM70.0,46h30.0v4h-30.0z");
  });

  test("without any number is empty", () => {
    const { line, band, range, last } = liveCurve([], "mean", SIZE);
    expect([line, band, range, last]).toEqual(["", "", undefined, undefined]);
  });
});

describe("the change of a value", () => {
  test.each([
    ["nan", "0", "np.where(np.isnan(value), 0, value)"],
    ["bad", "−1e-3", "np.where(np.isfinite(value), value, -1e-3)"],
    ["scale", " 0.5 ", "value * 0.5"],
    ["set", "3", "3"],
    ["free", "np.clip(value, -1, 1)", "np.clip(value, -1, 1)"],
    ["nan", "", undefined],
    ["scale", "import os", undefined],
    ["free", "  ", undefined],
  ] as const)("by %s with %j is %j", (name, text, expected) => {
    expect(expressionOfChange(name, text)).toBe(expected);
  });
});
