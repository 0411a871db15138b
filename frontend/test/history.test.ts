import { expect, test } from "vitest";
import { canMove, current, type History, move, NO_HISTORY, stepTo } from "../src/model/history";

const history = (...steps: string[]) =>
  steps.reduce<History<string>>((w, step) => stepTo(w, step, (a, b) => a === b), NO_HISTORY);

test("a history goes back and forward, and a new step drops those that followed", () => {
  const there = history("Log", "mul", "Mean");
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

test("a step to the current one changes nothing, and there is no step before the first", () => {
  expect(history("Log", "Log").steps).toEqual(["Log"]);
  expect(move(history("Log"), -1)).toEqual(history("Log"));
  expect(current(NO_HISTORY)).toBeUndefined();
});

test("a history stays short", () => {
  const long = history(...Array.from({ length: 500 }, (_, i) => `op${i}`));
  expect(long.steps.length).toBeLessThanOrEqual(100);
  expect(current(long)).toBe("op499");
});
