/** `model/steps.ts`: the step in focus, and the steps beside it. */
import { describe, expect, test } from "vitest";
import type { HostSteps } from "../src/api/answers";
import { stepsBeside, stepsOf, stepWords, within } from "../src/model/steps";
import { random } from "./random";

const host = (name: string, num_steps: number): HostSteps => ({
  host: name,
  kind: "marked",
  num_steps,
  bins: [],
});

describe("the steps of the run", () => {
  test("are those of the process in focus", () => {
    expect(stepsOf([host("a", 3), host("b", 9)], "a")?.num_steps).toBe(3);
  });

  test("are those of the process with the most steps while nothing is in focus", () => {
    expect(stepsOf([host("a", 3), host("b", 9)], undefined)?.num_steps).toBe(9);
    expect(stepsOf([host("a", 3), host("b", 9)], "gone")?.num_steps).toBe(9);
  });

  test("are none before there is an answer", () => {
    expect(stepsOf([], "a")).toBeUndefined();
  });
});

test("a step says its number and how many there are", () => {
  expect(stepWords({ step: 3, of: 40 })).toBe("step 3 of 40");
});

test("steps beside one are a filter, and there is none before the first", () => {
  expect(stepsBeside(3, 1)).toBe("4..");
  expect(stepsBeside(3, -1)).toBe("0..2");
  expect(stepsBeside(0, -1)).toBeUndefined();
});

test("a slider leads to a step that there is, whatever its value is", () => {
  const draw = random(1);
  for (let i = 0; i < 200; i++) {
    const value = draw(20_000) / 100 - 50;
    const step = within(value, { num_steps: 40 });
    expect(Number.isInteger(step) && step >= 0 && step < 40).toBe(true);
    if (value >= 0 && value <= 39) expect(Math.abs(step - value)).toBeLessThanOrEqual(0.5);
  }
});
