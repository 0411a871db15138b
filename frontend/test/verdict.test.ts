import { describe, expect, test } from "vitest";
import { status as check, type Status } from "../src/api/answers";
import { gapsCount, gapsOf, gapsWords } from "../src/model/gaps";
import { looksForBad, stateOf, verdictOf } from "../src/model/verdict";
import { makeFixture } from "./fixture/fixture";

const WHOLE = {
  not_recorded: [],
  notices: [],
  num_executions: 1600,
  num_graph_executions: 1701,
  num_alerts: 0,
};

/** A status as the server answers it, with some fields replaced. */
function status(more: Record<string, unknown> = {}): Status {
  const answer = makeFixture({ steps: 2, illFrom: 2, status: { ...WHOLE, ...more } });
  const found = answer("status", new URLSearchParams());
  return check("json" in found ? found.json : undefined, "status");
}

function entry(reason: string, more: Record<string, unknown> = {}) {
  return { host: "host", reason, names: [], message: `Why ${reason}.`, graph_id: null, ...more };
}

describe("a run without an alert", () => {
  test("is well where all of the program was looked at", () => {
    expect(verdictOf(status())).toEqual({
      headline: "No NaN and no infinity",
      sentence:
        "All that is on record was finite wherever it was measured: 1,600 executions and 1,701 tensors in graphs.",
      isWhole: true,
      gaps: [],
      doubts: [],
    });
  });

  test.each([
    "not_instrumented",
    "filtered",
    "made_before",
    "no_graph",
    "compiled",
    "optimized",
    "other_backend",
    "unknown",
    "stopped",
    "missing",
    "a word of a later version",
    "constructor",
  ])("is well only in what was recorded where something was not: %s", (reason) => {
    const verdict = verdictOf(status({ not_recorded: [entry(reason)] }));
    expect(verdict).toMatchObject({
      headline: "No NaN and no infinity in what was recorded",
      isWhole: false,
      gaps: [{ message: `Why ${reason}.` }],
    });
    expect(verdict.gaps[0]?.title).toMatch(/^[a-z ]+$/);
  });

  test.each([
    [
      "a ring dropped rows",
      { dropped_graph_executions: 1234 },
      /dropped 0 executions and 1,234 graph tensors/,
    ],
    ["a file is damaged", { notices: [{ severity: "warning", message: "Damaged." }] }, /1 notice/],
    ["TensorFlow recorded", { recorder: "TensorFlow 2.21.0" }, /TensorFlow's own recorder leaves out/],
  ])("is well only in what was recorded where %s", (_, more, doubt) => {
    const verdict = verdictOf(status(more));
    expect(verdict.headline).toBe("No NaN and no infinity in what was recorded");
    expect([verdict.isWhole, verdict.doubts.length]).toEqual([false, 1]);
    expect(verdict.doubts[0]).toMatch(doubt);
  });

  test.each([
    [{ finished: false }, "No NaN and no infinity so far"],
    [{ finished: null }, "No NaN and no infinity so far"],
    [{ loading: { bytes_done: 1, bytes_total: 9 } }, "No NaN and no infinity so far"],
    [
      { finished: false, not_recorded: [entry("filtered")] },
      "No NaN and no infinity in what was recorded so far",
    ],
  ])("is well so far while it goes on, was killed or is being read: %j", (more, headline) => {
    expect(verdictOf(status(more)).headline).toBe(headline);
  });

  test("is never well where nothing is on record, and says what is not", () => {
    const none = { num_executions: 0, num_graph_executions: 0 };
    const verdict = verdictOf(status({ ...none, not_recorded: [entry("other_backend")] }));
    expect(verdict).toMatchObject({
      headline: "Nothing is on record",
      sentence: "Nothing was recorded.",
      isWhole: false,
      gaps: [{ message: "Why other_backend." }],
    });
    expect(verdictOf(status({ ...none, finished: false })).sentence).toBe("Nothing has been recorded yet.");
  });

  test.each(["NO_TENSOR", "SHAPE"])("was not looked at in mode %s", (tensor_debug_mode) => {
    expect(looksForBad(status({ tensor_debug_mode }))).toBe(false);
    expect(looksForBad(status())).toBe(true);
  });
});

describe("what is not recorded", () => {
  test("is one line where the same is said of several things, each with its graph", () => {
    const same = { message: "Failed." };
    const gaps = gapsOf(
      status({
        not_recorded: [
          entry("not_instrumented", { ...same, names: ["f"], graph_id: "g1" }),
          entry("not_instrumented", { ...same, names: ["g", "h"] }),
          entry("not_instrumented", { ...same, graph_id: "0123456789" }),
        ],
      }),
    );
    expect(gaps).toHaveLength(1);
    expect(gaps[0]?.missing).toEqual([
      { name: "f", graph: "g1" },
      { name: "g", graph: undefined },
      { name: "h", graph: undefined },
      { name: "graph 01234567", graph: "0123456789" },
    ]);
    expect(gapsWords(gaps)).toBe("4 not recorded");
  });

  test("begins with a recording that is not whole, whatever comes first in the answer", () => {
    const run = status({ not_recorded: [entry("filtered"), entry("not_instrumented"), entry("stopped")] });
    const gaps = gapsOf(run);
    expect(gaps.map(({ title }) => title)).toEqual(["stopped early", "not watched", "filtered out"]);
    expect(gapsWords(gaps)).toBe("stopped early, 2 not recorded");
    expect(gapsCount(gaps)).toBe("2 not recorded");
    expect(gapsCount(gaps.slice(0, 1))).toBe("not all recorded");
    expect(stateOf(run, false)).toEqual({ kind: "stopped", text: "stopped early", why: "Why stopped." });
  });

  test("names its hosts where there are several", () => {
    const not_recorded = [entry("filtered", { host: "a" }), entry("filtered", { host: "b" })];
    expect(gapsOf(status({ not_recorded, hosts: ["a", "b", "c"] }))[0]?.hosts).toEqual(["a", "b"]);
    expect(gapsOf(status({ not_recorded }))[0]?.hosts).toEqual([]);
    expect(gapsWords([])).toBeUndefined();
  });
});

test("a program that was killed is not called live for ever", () => {
  expect(stateOf(status({ finished: false }), false).text).toBe("live");
  expect(stateOf(status({ finished: false }), true)).toMatchObject({ kind: "unknown", text: "not ended" });
  expect(stateOf(status(), true).text).toBe("finished");
  expect(stateOf(status({ finished: null }), true).text).toBe("recorded");
});
