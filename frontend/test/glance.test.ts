/** `model/glance.ts`: what was checked, and what was recorded, in words. */
import { describe, expect, it } from "vitest";
import type { Rule, Status } from "../src/api/answers";
import { checksOf, opensAtAGlance, recordedFacts, timesWords } from "../src/model/glance";

const rule = (alert_type: string, more: Partial<Rule>): Rule => ({
  alert_type,
  title: alert_type,
  severity: "high",
  description: "",
  recommended: true,
  missing: undefined,
  num_tensors: 0,
  num_values: 0,
  parameters: [],
  ...more,
});

describe("checksOf", () => {
  it("tells rules that found something from those that did not, and from those that could not look", () => {
    const found = checksOf([
      rule("a", {}),
      rule("b", { num_tensors: 2 }),
      rule("c", { missing: "Needs numbers." }),
      rule("d", { missing: "Needs numbers." }),
      rule("e", { recommended: false, num_tensors: 9 }),
      rule("f", { num_tensors: undefined }),
    ]);
    const names = (rules: readonly Rule[]) => rules.map(({ title }) => title).join();
    expect([names(found.broken), names(found.kept)]).toEqual(["b", "a"]);
    expect([...found.unasked].map(([why, rules]) => [why, names(rules)])).toEqual([
      ["Needs numbers.", "c,d"],
    ]);
  });
});

describe("opensAtAGlance", () => {
  const opens = (kind: "bad" | "rules" | "nothing" | "empty") =>
    opensAtAGlance({
      kind,
      headline: "",
      sentences: [],
      doubts: [],
      is_good: false,
      num_alerts: undefined,
    });
  it("leaves the page of a bad value as it is", () => {
    expect([opens("bad"), opens("empty"), opens("rules"), opens("nothing")]).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});

describe("recordedFacts", () => {
  it("leaves out what is not known", () => {
    const status = { num_executions: 1, num_graph_executions: 2000, hosts: ["vm"] } as unknown as Status;
    expect(recordedFacts(status, { host: "vm", kind: "calls", num_steps: 1, bins: [] })).toEqual([
      ["steps", "1 step: calls of functions"],
      ["calls", "1 execution"],
      ["in graphs", "2,000 graph executions"],
      ["processes", "vm"],
    ]);
  });
});

describe("timesWords", () => {
  it("says how much longer, where that is worth a word", () => {
    expect([timesWords(12, 1), timesWords(3, 2), timesWords(1, 1), timesWords(1, undefined)]).toEqual([
      "12 times the median",
      "1.5 times the median",
      "",
      "",
    ]);
  });
});
