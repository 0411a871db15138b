/** `src/model/exponents.ts`: rows, colours and words of the map of exponents. */
import { describe, expect, test } from "vitest";
import type { ExponentMap } from "../src/api/curves";
import { graphExecutionIndex } from "../src/base/ids";
import {
  cellWords,
  columnAt,
  columnFacts,
  columnWords,
  mapRows,
  mapWords,
  numColumns,
  shareAt,
  strengthOf,
  zoomed,
} from "../src/model/exponents";

const EDGES = [-126, -14, 0, 8];
const TENSOR = { name: "x:0", op_type: "Mul", graph_id: undefined, function: undefined };

function mapOf(
  columns: { readonly size: readonly number[]; readonly [name: string]: readonly number[] },
  more: Partial<ExponentMap> = {},
) {
  const length = columns.size.length;
  const places = Array.from({ length }, (_, i) => i);
  const zeros = places.map(() => 0);
  const all = {
    ...{ occurrence: places, index: places.map((i) => 10 * i), wall_time: places, step: places },
    ...{ count: places.map(() => 1), bad: zeros, nan: zeros, pos_inf: zeros, neg_inf: zeros, zero: zeros },
    ...{ tiny: zeros, from_2_m126: zeros, from_2_m14: zeros, from_2_0: zeros, from_2_8: zeros },
    ...columns,
  };
  return {
    ...{ tensor: { ...TENSOR, layer: undefined, variable: undefined }, dtype: "float32" },
    ...{ least_exponent: -126, edges: EDGES, total: length, begin: 0, end: length, is_reduced: false },
    columns: new Map(Object.entries(all).map(([name, values]) => [name, Float64Array.from(values)])),
    ...more,
  } as ExponentMap;
}

const MAP = mapOf({
  ...{ size: [40, 40, 40], zero: [0, 10, 39], from_2_m14: [40, 20, 0], tiny: [0, 5, 1] },
  ...{ nan: [0, 5, 0], bad: [0, 1, 0] },
});

describe("the map of exponents", () => {
  test("has rows from the largest to the smallest, and those of bad values and 0 at the ends", () => {
    expect(mapRows(MAP).map(({ title }) => title)).toEqual([
      ...["NaN", "+∞", "−∞", "2⁻¹⁴ to 2⁰", "2⁻¹²⁶ to 2⁻¹⁴", "below 2⁻¹²⁶", "0"],
    ]);
    expect(mapRows(mapOf({ size: [4], nan: [4] })).map(({ title }) => title)).toEqual([
      ...["NaN", "+∞", "−∞", "0"],
    ]);
  });

  test("knows which ranges are denormal in the dtype", () => {
    const denormal = (map: ExponentMap) =>
      mapRows(map)
        .filter(({ kind }) => kind === "denormal")
        .map(({ name }) => name);
    expect(denormal(MAP)).toEqual(["tiny"]);
    expect(denormal({ ...MAP, least_exponent: -14 })).toEqual(["from_2_m126", "tiny"]);
    expect(denormal({ ...MAP, least_exponent: undefined })).toEqual([]);
  });

  test("has shares that add up to 1 in each column, as counting says", () => {
    for (let column = 0; column < numColumns(MAP); column++) {
      const shares = mapRows(MAP).map((row) => shareAt(MAP, row, column));
      expect(shares.reduce((a, b) => a + b)).toBeCloseTo(1);
    }
  });

  test("has a colour for each share above 0, the stronger the larger", () => {
    expect(strengthOf(0)).toBe(undefined);
    expect([1e-9, 1e-4, 1e-2, 1].map(strengthOf)).toEqual([0, 0, 0.5, 1]);
  });

  test("says a cell, a column and itself in words", () => {
    const rows = mapRows(MAP);
    const tiny = rows[5];
    if (tiny === undefined) throw new Error("no row");
    expect(cellWords(MAP, tiny, "occurrence", 1)).toBe(
      "occurrence 2 · below 2⁻¹²⁶, denormal · 5 of 40 elements, 12.5 %",
    );
    expect(columnFacts(MAP, rows, 1)).toEqual({
      ...{ most: "2⁻¹⁴ to 2⁰ (50 %)", zero: "25 %", denormal: "12.5 %", infinite: "0 %", nan: "12.5 %" },
    });
    expect(mapWords(MAP, rows, "step")).toBe(
      "3 columns of 3 occurrences. step 0: most elements are 2⁻¹⁴ to 2⁰ (100 %)." +
        " step 2: most elements are 0 (97.5 %). NaN or infinity first at step 1",
    );
    expect(columnWords(mapOf({ size: [9], count: [3] }), "occurrence", 0)).toBe("occurrence 1 and 2 more");
  });

  test("finds the column of an occurrence, as a walk through all stretches does", () => {
    for (const [length, parts] of [
      [10, 4],
      [7, 7],
      [300, 11],
    ] as const) {
      const starts = Array.from({ length: parts }, (_, i) => Math.floor((i * length) / parts));
      const map = mapOf(
        { size: starts.map(() => 1), occurrence: starts },
        { total: length, end: length, is_reduced: parts < length },
      );
      for (let at = 0; at < length; at++)
        expect(columnAt(map, at)).toBe(starts.findLastIndex((start) => start <= at));
    }
    expect(columnAt({ ...MAP, begin: 1 }, 0)).toBe(undefined);
  });

  test("is zoomed around a column, and never beyond its ends", () => {
    const source = { kind: "graph_execution", index: graphExecutionIndex(3) } as const;
    const occurrence = Array.from({ length: 50 }, (_, i) => i * 2);
    const map = mapOf({ size: occurrence, occurrence }, { total: 100, end: 100, is_reduced: true });
    const range = (column: number, share: number | undefined) => {
      const span = zoomed(map, source, column, share);
      return span && [span.begin, span.end];
    };
    expect(range(25, 0.5)).toEqual([25, 75]);
    expect([range(0, 0.5), range(49, 0.5)]).toEqual([
      [0, 50],
      [50, 100],
    ]);
    expect([range(25, 2), range(25, undefined)]).toEqual([undefined, undefined]);
  });
});
