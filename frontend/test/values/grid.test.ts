import { describe, expect, test } from "vitest";
import type { GridAnswer } from "../../src/api/values";
import { paint, rgbOf, scaleOf } from "../../src/model/values/colours";
import {
  FINITE,
  type Grid,
  gridOf,
  merged,
  mergeFactor,
  NAN,
  NEG_INF,
  POS_INF,
  rangeOf,
  transposed,
} from "../../src/model/values/grid";
import { random } from "../random";

/** The exact grid of a drawing: a line for each row. */
function grid(...lines: readonly string[]): Grid {
  const cells = lines.map((line) => line.trim().split(/\s+/).map(Number));
  const [rows, columns] = [cells.length, cells[0]?.length ?? 0];
  return gridOf(answer([rows, columns], [rows, columns], [1, 1], { value: Float64Array.from(cells.flat()) }));
}

function answer(
  slice_shape: readonly number[],
  size: readonly number[],
  tile: readonly number[],
  columns: Readonly<Record<string, Float64Array | Float32Array | Uint8Array>>,
): GridAnswer {
  const header = { generation: 1, dtype: "float32", slice_shape, grid: size, tile };
  return { ...header, columns: new Map(Object.entries(columns)) };
}

const rowsOf = ({ rows, columns, mean }: Grid) =>
  Array.from({ length: rows }, (_, r) => [...mean.slice(r * columns, (r + 1) * columns)]);

describe("a grid", () => {
  test("of single elements knows the kind of each", () => {
    const { kinds } = grid("1 NaN", "Infinity -Infinity");
    expect([...kinds]).toEqual([FINITE, NAN, POS_INF, NEG_INF]);
  });

  test("of a vector is one row, of a scalar one cell", () => {
    const value = Float64Array.of(1, 2, 3);
    expect(gridOf(answer([3], [1, 3], [1, 1], { value }))).toMatchObject({ height: 1, width: 3 });
    expect(gridOf(answer([], [1, 1], [1, 1], { value }))).toMatchObject({ height: 1, width: 1 });
  });

  test("with fewer tiles than it says is refused", () => {
    expect(() => gridOf(answer([9, 9], [9, 9], [1, 1], { value: Float64Array.of(1) }))).toThrow(
      "fewer tiles",
    );
  });

  test("has the range of its finite elements", () => {
    expect(rangeOf(grid("NaN 3 -Infinity", "-2 0 Infinity"))).toEqual({ low: -2, high: 3 });
    expect(rangeOf(grid("NaN NaN"))).toBeUndefined();
  });

  test("is transposed with its tiles", () => {
    const turned = transposed(grid("1 2 3", "4 5 NaN"));
    expect(rowsOf(turned)).toEqual([
      [1, 4],
      [2, 5],
      [3, Number.NaN],
    ]);
    expect(turned).toMatchObject({ height: 3, width: 2 });
    expect([...turned.kinds].at(-1)).toBe(NAN);
  });
});

describe("tiles that are put together", () => {
  test("lose no bad element, no minimum and no maximum", () => {
    const pick = random(3);
    for (let round = 0; round < 50; round++) {
      const [rows, columns] = [1 + pick(9), 1 + pick(9)];
      const some = () => [Number.NaN, Infinity, -Infinity, pick(9), -pick(9), pick(100)][pick(6)] ?? 0;
      const value = Float64Array.from({ length: rows * columns }, some);
      const whole = gridOf(answer([rows, columns], [rows, columns], [1, 1], { value }));
      const [down, across] = [1 + pick(4), 2 + pick(3)];
      const few = merged(whole, down, across);
      for (let r = 0; r < few.rows; r++)
        for (let c = 0; c < few.columns; c++)
          expect(tileAt(few, r, c)).toEqual(slowTile(rowsOf(whole), r, c, down, across));
    }
  });

  test("are at least a pixel long", () => {
    for (const [tile, scale] of [
      [10, 0.07],
      [1, 0.9],
      [1, 1],
      [3, 0.01],
      [8, 40],
    ] as const) {
      const factor = mergeFactor(tile, scale);
      expect(tile * scale * factor).toBeGreaterThanOrEqual(1 - 1e-6);
      if (factor > 1) expect(tile * scale * factor).toBeLessThan(2);
    }
  });
});

function tileAt({ columns, min, max, kinds }: Grid, r: number, c: number) {
  const i = r * columns + c;
  return { min: min[i], max: max[i], kinds: kinds[i] };
}

/** The slow twin: looks at each element of a tile. */
function slowTile(rows: readonly (readonly number[])[], r: number, c: number, down: number, across: number) {
  const inside = rows
    .slice(r * down, (r + 1) * down)
    .flatMap((row) => row.slice(c * across, (c + 1) * across));
  const finite = inside.filter(Number.isFinite);
  const has = (bit: number, some: boolean) => (some ? bit : 0);
  return {
    min: finite.length === 0 ? Number.NaN : Math.fround(Math.min(...finite)),
    max: finite.length === 0 ? Number.NaN : Math.fround(Math.max(...finite)),
    kinds:
      has(NAN, inside.some(Number.isNaN)) |
      has(POS_INF, inside.includes(Infinity)) |
      has(NEG_INF, inside.includes(-Infinity)) |
      has(FINITE, finite.length > 0),
  };
}

const PALETTE = {
  sequential: [rgbOf("#000000"), rgbOf("#ffffff")],
  diverging: [rgbOf("#0000ff"), rgbOf("#000000"), rgbOf("#00ff00")],
  nan: rgbOf("#ff0001"),
  posInf: rgbOf("#ff0002"),
  negInf: rgbOf("#ff0003"),
  faded: rgbOf("#ffffff"),
} as const;

/** The colours of the tiles, as "r,g,b". */
function colours(of: Grid, only?: { low: number; high: number }): readonly string[] {
  const bytes = paint(of, scaleOf(rangeOf(of)), PALETTE, only);
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.slice(i * 4, i * 4 + 3).join(","));
}

test.each([
  ["#1d2329", "29,35,41"],
  [" #fff", "255,255,255"],
  ["rgb(1, 2, 3)", "1,2,3"],
  ["", "0,0,0"],
])("the colour %j has the numbers %s", (text, numbers) => {
  expect(rgbOf(text).join()).toBe(numbers);
});

describe("the colours of a grid", () => {
  test("have zero in the middle when there are both signs", () => {
    expect(colours(grid("-4 0 4 NaN Infinity -Infinity"))).toEqual([
      "0,0,255",
      "0,1,0",
      "0,255,0",
      "255,0,1",
      "255,0,2",
      "255,0,3",
    ]);
    expect(scaleOf({ low: -1, high: 4 })).toEqual({ low: -4, high: 4, isDiverging: true });
  });

  test("go from the smallest to the largest when there is one sign", () => {
    expect(colours(grid("10 20 30"))).toEqual(["0,0,0", "128,128,128", "255,255,255"]);
    expect(colours(grid("5 5"))).toEqual(["128,128,128", "128,128,128"]);
  });

  test("show a NaN among finite elements of a tile", () => {
    expect(colours(merged(grid("1 2 3 NaN", "5 6 7 8"), 2, 2))).toEqual(["91,91,91", "255,0,1"]);
  });

  test("fade outside of the range that is highlighted", () => {
    const [low, inside, bad] = colours(grid("0 5 NaN 10"), { low: 4, high: 6 });
    expect(low).toBe("219,219,219");
    expect(inside).toBe("128,128,128");
    expect(bad).toBe("255,219,219");
  });

  test("fade half where only a part of a tile is in the range", () => {
    // The tiles hold 0 and 5, 5 and 6, 9 and 10, 5 and NaN.
    const tiles = merged(grid("0 5 5 6 9 10 5 NaN"), 1, 2);
    const plain = colours(tiles);
    const shown = colours(tiles, { low: 4, high: 6 });
    const faded = (share: number, text = "") =>
      text
        .split(",")
        .map((part) => Math.round(Number(part) + (255 - Number(part)) * share))
        .join(",");
    expect(shown).toEqual([faded(0.5, plain[0]), plain[1], faded(0.86, plain[2]), faded(0.5, plain[3])]);
  });
});
