import { describe, expect, test } from "vitest";
import { expressionOfChange } from "../../src/model/live/changes";
import { type CurvePoint, liveLine } from "../../src/model/live/curves";

const point = (call: number, numbers: Record<string, number | undefined>): CurvePoint => ({
  call,
  numbers: Object.entries(numbers).map(([name, value]) => ({ name, value })),
});

describe("a live curve", () => {
  const points = [point(0, { min: -1, mean: 0, max: 1 }), point(1, { min: 0, mean: 2, max: 3 })];

  test("has the mean between min and max", () => {
    const line = liveLine("a", points, "mean");
    expect(line).toMatchObject({ label: "a", x: [0, 1], y: [0, 2], low: [-1, 0], high: [1, 3] });
  });

  test("of another number has no band", () => {
    expect(liveLine("a", points, "range")).toMatchObject({ y: [2, 3], low: undefined, high: undefined });
  });

  test("has no number where it is not known", () => {
    const gap = [...points, point(2, {}), point(3, { mean: 1 })];
    expect(liveLine("a", gap, "mean").y).toEqual([0, 2, undefined, 1]);
  });

  test("marks the times with NaN or infinity", () => {
    const bad = [
      point(0, { nan: 0, ninf: 0, pinf: 0 }),
      point(1, { nan: 1 }),
      point(2, { ninf: 0, pinf: 2 }),
    ];
    expect(liveLine("a", bad, "mean").bad).toEqual([false, true, true]);
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
