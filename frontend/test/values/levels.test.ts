import { describe, expect, test } from "vitest";
import {
  type Area,
  BLOCK,
  blocksOf,
  cellAt,
  fitted,
  levelFor,
  panned,
  seen,
  showing,
  type View,
  zoomed,
} from "../../src/model/values/levels";
import { random } from "../random";

interface Case {
  readonly slice: Area;
  readonly place: Area;
  readonly view: View;
}

/** Views of slices of all sizes, after some zooming and panning. */
function cases(n: number): readonly Case[] {
  const pick = random(21);
  return Array.from({ length: n }, () => {
    const slice = { width: 1 + pick(10 ** (1 + pick(5))), height: 1 + pick(10 ** (1 + pick(5))) };
    const place = { width: 200 + pick(900), height: 100 + pick(500) };
    let view = fitted("map", slice, place);
    for (let i = pick(5); i > 0; i--) {
      view = zoomed(
        "map",
        view,
        0.5 + pick(80) / 10,
        { x: pick(place.width), y: pick(place.height) },
        slice,
        place,
      );
      view = panned(view, pick(900) - 450, pick(900) - 450, slice, place);
    }
    return { slice, place, view };
  });
}

describe("a view", () => {
  test("of the whole slice shows all of it, and fills the width or the height of a large one", () => {
    for (const { slice, place } of cases(200)) {
      const { rows, columns } = seen(fitted("map", slice, place), slice, place);
      expect([rows.begin, columns.begin]).toEqual([0, 0]);
      expect(slice.height - rows.end).toBeLessThanOrEqual(1);
      expect(slice.width - columns.end).toBeLessThanOrEqual(1);
    }
  });

  test("never leaves the slice", () => {
    for (const { slice, place, view } of cases(300)) {
      expect(view.left).toBeGreaterThanOrEqual(0);
      expect(view.left * view.scaleX + Math.min(place.width, slice.width * view.scaleX)).toBeLessThanOrEqual(
        slice.width * view.scaleX + 1e-6,
      );
    }
  });

  test("keeps the element below the pointer while it zooms", () => {
    const [slice, place] = [
      { width: 5000, height: 5000 },
      { width: 800, height: 400 },
    ];
    const before = zoomed("map", fitted("map", slice, place), 8, { x: 200, y: 200 }, slice, place);
    const after = zoomed("map", before, 2, { x: 300, y: 100 }, slice, place);
    expect(cellAt(after, 300, 100, slice)).toEqual(cellAt(before, 300, 100, slice));
  });

  test("moves to show an element, and stays when it is seen", () => {
    for (const { slice, place, view } of cases(200)) {
      const [row, column] = [Math.floor(slice.height / 2), Math.floor(slice.width / 3)];
      const moved = showing(view, row, column, slice, place);
      const { rows, columns } = seen(moved, slice, place);
      expect(row >= rows.begin && row < rows.end && column >= columns.begin && column < columns.end).toBe(
        true,
      );
      expect(showing(moved, row, column, slice, place)).toEqual(moved);
    }
  });

  test("of a curve zooms only along it", () => {
    const [slice, place] = [
      { width: 3000, height: 1 },
      { width: 600, height: 300 },
    ];
    const view = zoomed("curve", fitted("curve", slice, place), 4, { x: 0, y: 0 }, slice, place);
    expect(view).toEqual({ left: 0, top: 0, scaleX: 0.8, scaleY: 300 });
  });
});

describe("the blocks of a view", () => {
  const coarse = { width: 1e9, height: 1e9 };

  test("cover what is seen, once, and are few", () => {
    for (const { slice, place, view } of cases(300)) {
      const blocks = blocksOf(view, slice, place, coarse);
      const { rows, columns } = seen(view, slice, place);
      const pick = random(4);
      for (let i = 0; i < 20; i++) {
        const row = rows.begin + pick(Math.max(1, rows.end - rows.begin));
        const column = columns.begin + pick(Math.max(1, columns.end - columns.begin));
        const holding = blocks.filter(
          (b) =>
            row >= b.rows.begin && row < b.rows.end && column >= b.columns.begin && column < b.columns.end,
        );
        expect(holding).toHaveLength(1);
      }
      expect(blocks.length).toBeLessThan(64);
      expect(new Set(blocks.map(({ key }) => key)).size).toBe(blocks.length);
    }
  });

  test("have tiles of about a pixel", () => {
    expect([1, 0.9, 0.5, 0.26, 0.07, 30].map(levelFor)).toEqual([0, 1, 1, 2, 4, 0]);
  });

  test("are none when the coarse grid is as fine", () => {
    const [slice, place] = [
      { width: 5000, height: 5000 },
      { width: 400, height: 400 },
    ];
    const whole = fitted("map", slice, place);
    expect(blocksOf(whole, slice, place, { width: 10, height: 10 })).toEqual([]);
    const near = zoomed("map", whole, 4, { x: 0, y: 0 }, slice, place);
    const [first] = blocksOf(near, slice, place, { width: 10, height: 10 });
    expect(first?.rows).toEqual({ begin: 0, end: BLOCK * 4 });
  });
});
