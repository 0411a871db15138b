/** `src/model/rules.ts`: sliders and the settings of requests. */
import { expect, test } from "vitest";
import type { Rule, RuleParameter } from "../src/api/answers";
import { queryOf, ruleQuery, SLIDER_STEPS, stepOf, valueAt, withThreshold } from "../src/model/rules";

function parameter(more: Partial<RuleParameter>): RuleParameter {
  const base = { name: "limit", default: 10, value: 10, low: 1, high: 1e6, unit: "", scale: "log" };
  return { ...base, choices: [], whole: false, ...more };
}

const RULE: Rule = {
  alert_type: "LargeAlert",
  title: "Large",
  severity: "high",
  description: "",
  recommended: true,
  missing: undefined,
  num_tensors: 0,
  num_values: 0,
  parameters: [],
};

test.each([
  ["log", 1, 1e6],
  ["log", 1e-30, 1],
  ["linear", -9.5, 0],
  ["linear", 0, 1],
])("a slider with %s scale from %d to %d comes back to each of its steps", (scale, low, high) => {
  const one = parameter({ scale, low, high });
  expect(valueAt(one, 0)).toBe(low);
  expect(valueAt(one, SLIDER_STEPS)).toBe(high);
  for (let step = 0; step <= SLIDER_STEPS; step += 50) {
    expect(Math.abs(stepOf(one, valueAt(one, step)) - step)).toBeLessThanOrEqual(1);
  }
});

test("a whole number stays whole, and a value outside stands at the end", () => {
  expect(Number.isInteger(valueAt(parameter({ low: 1, high: 1000, whole: true }), 333))).toBe(true);
  expect(stepOf(parameter({}), 1e9)).toBe(SLIDER_STEPS);
});

test("a threshold at its default is not sent", () => {
  const limit = parameter({});
  const moved = withThreshold(new Map(), RULE, limit, "5");
  expect(ruleQuery(moved, new Set(["OtherAlert"]))).toEqual({
    rules: "recommended,OtherAlert",
    "LargeAlert.limit": "5",
  });
  expect(queryOf(moved, "OtherAlert")).toEqual({ rules: "OtherAlert" });
  expect(withThreshold(moved, RULE, limit, "10").size).toBe(0);
});
