import { describe, expect, test } from "vitest";
import * as scroll from "../src/model/scroll";
import { random } from "./random";

/** Layouts from a handful of rows to a hundred million. */
function layouts(n: number): readonly scroll.ScrollLayout[] {
  const pick = random(7);
  return Array.from({ length: n }, (_, i) => ({
    rows: pick(10 ** (1 + (i % 8))) + 1,
    rowHeight: 20 + pick(20),
    viewport: 60 + pick(900),
  }));
}

/** The slow twin: checks every row. */
function rowsSeen({ rows, rowHeight, viewport }: scroll.ScrollLayout, virtual: number): readonly number[] {
  return Array.from({ length: rows }, (_, i) => i).filter(
    (i) => (i + 1) * rowHeight > virtual && i * rowHeight < virtual + viewport,
  );
}

describe("scaled scrolling", () => {
  test("never makes an element taller than browsers can", () => {
    for (const layout of layouts(200)) expect(scroll.spacer(layout)).toBeLessThanOrEqual(scroll.MAX_SPACER);
  });

  test("goes from the bar to the rows and back to the same place", () => {
    const pick = random(11);
    for (const layout of layouts(200)) {
      const virtual = pick(Math.floor(scroll.maxVirtual(layout)) + 1);
      const back = scroll.toVirtual(layout, scroll.toPhysical(layout, virtual));
      expect(Math.abs(back - virtual)).toBeLessThan(1e-3);
    }
  });

  test("reaches the first and the last row by the ends of the bar", () => {
    for (const layout of layouts(200)) {
      expect(scroll.visibleRows(layout, scroll.toVirtual(layout, 0)).begin).toBe(0);
      expect(scroll.visibleRows(layout, scroll.toVirtual(layout, scroll.maxPhysical(layout))).end).toBe(
        layout.rows,
      );
    }
  });

  test("moves the bar one pixel for a pixel while the list is short enough", () => {
    const layout = { rows: 1000, rowHeight: 24, viewport: 300 };
    expect(scroll.toVirtual(layout, 777)).toBeCloseTo(777);
  });

  test("has the same visible rows as a check of every row", () => {
    const pick = random(5);
    for (const layout of layouts(120).filter(({ rows }) => rows < 3000)) {
      const virtual = pick(Math.floor(scroll.maxVirtual(layout)) + 1);
      const { begin, end } = scroll.visibleRows(layout, virtual);
      expect(Array.from({ length: end - begin }, (_, i) => begin + i)).toEqual(rowsSeen(layout, virtual));
    }
  });

  test("brings any row into view, and does not move when the row is visible", () => {
    const pick = random(3);
    for (const layout of layouts(300)) {
      const virtual = scroll.clampVirtual(layout, pick(Math.floor(scroll.maxVirtual(layout)) + 1));
      const row = pick(layout.rows);
      for (const move of [scroll.reveal, scroll.nudge]) {
        const moved = move(layout, virtual, row);
        const top = row * layout.rowHeight - moved;
        expect(top).toBeGreaterThanOrEqual(0);
        expect(top + layout.rowHeight).toBeLessThanOrEqual(Math.max(layout.viewport, layout.rowHeight));
        expect(move(layout, moved, row)).toBe(moved);
      }
    }
  });

  test("moves by exact rows with the keys even in a list of fifty million", () => {
    const layout = { rows: 50_000_000, rowHeight: 24, viewport: 240 };
    const at = 30_000_000 * 24;
    expect(scroll.nudge(layout, at, 30_000_010)).toBe(at + 24);
    expect(scroll.visibleRows(layout, at + 24)).toEqual({ begin: 30_000_001, end: 30_000_011 });
  });

  test("does not move in an empty list", () => {
    const layout = { rows: 0, rowHeight: 24, viewport: 100 };
    expect(scroll.toVirtual(layout, 50)).toBe(0);
    expect(scroll.toPhysical(layout, 50)).toBe(0);
    expect(scroll.visibleRows(layout, 0)).toEqual({ begin: 0, end: 0 });
  });
});
