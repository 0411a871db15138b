import { expect, test } from "vitest";
import { marks, minimapPixel, minimapRow, windowAround, windowAt } from "../src/model/minimap";
import { random } from "./random";

test("the window keeps its length at both ends and is shorter only when the list is", () => {
  const pick = random(9);
  for (let i = 0; i < 500; i++) {
    const [total, fit, asked] = [pick(2000), 1 + pick(80), pick(3000) - 500];
    const { begin, end } = windowAt(asked, fit, total);
    expect(begin).toBeGreaterThanOrEqual(0);
    expect(end - begin).toBe(Math.min(fit, total));
    expect(end).toBeLessThanOrEqual(total);
  }
});

test("the window moves only to a row that is not in it, and then has it in the middle", () => {
  const window = windowAt(100, 40, 605);
  expect(windowAround(120, window, 40, 605)).toEqual(window);
  expect(windowAround(300, window, 40, 605)).toEqual({ begin: 280, end: 320 });
  expect(windowAround(604, window, 40, 605)).toEqual({ begin: 565, end: 605 });
});

test("the row at a pixel of a minimap is drawn at that pixel", () => {
  const pick = random(21);
  for (let i = 0; i < 300; i++) {
    const [total, length] = [1 + pick(10_000_000), 50 + pick(1500)];
    const pixel = pick(length);
    const row = minimapRow(pixel, total, length);
    expect(Math.abs(minimapPixel(row, total, length) - pixel)).toBeLessThanOrEqual(
      Math.max(1, length / total),
    );
  }
  expect([minimapRow(-5, 10, 100), minimapRow(999, 10, 100), minimapRow(5, 0, 100)]).toEqual([0, 9, 0]);
});

test("one bad row among a million marks its bucket bad", () => {
  expect(marks([0, 1, 0], [1_000_000, 999_999, 0])).toEqual(["measured", "bad", "none"]);
});
