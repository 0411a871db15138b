import { expect, test } from "vitest";
import { canMove, current, move, NO_WALK, stepTo, type Walk } from "../src/model/walk";

const walk = (...steps: string[]) =>
  steps.reduce<Walk<string>>((w, step) => stepTo(w, step, (a, b) => a === b), NO_WALK);

test("a walk goes back and forward, and forgets what lay ahead when it turns", () => {
  const there = walk("Log", "mul", "Mean");
  const back = move(there, -1);
  expect([current(there), current(back), canMove(back, 1), canMove(there, 1)]).toEqual([
    "Mean",
    "mul",
    true,
    false,
  ]);
  const turned = stepTo(back, "Neg", (a, b) => a === b);
  expect(turned.steps).toEqual(["Log", "mul", "Neg"]);
});

test("a step to where we are is none, and a walk has no end before its beginning", () => {
  expect(walk("Log", "Log").steps).toEqual(["Log"]);
  expect(move(walk("Log"), -1)).toEqual(walk("Log"));
  expect(current(NO_WALK)).toBeUndefined();
});

test("a walk stays short", () => {
  const long = walk(...Array.from({ length: 500 }, (_, i) => `op${i}`));
  expect(long.steps.length).toBeLessThanOrEqual(100);
  expect(current(long)).toBe("op499");
});
