import { describe, expect, test } from "vitest";
import { status as check, type Status } from "../src/api/answers";
import { gapsCount, gapsOf, gapsWords } from "../src/model/gaps";
import { markOf, stateOf } from "../src/model/verdict";
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

test("a run has the mark of its verdict, and none before anybody asked", () => {
  const verdict = { headline: "", sentences: [], doubts: [], num_alerts: undefined };
  const kinds = ["bad", "rules", "unmeasured", "a word of a later version"];
  const marks = kinds.map((kind) => markOf({ ...verdict, kind, is_good: false }));
  expect(marks).toEqual(["✗ ", "! ", "", ""]);
  expect(markOf({ ...verdict, kind: "nothing", is_good: true })).toBe("✓ ");
  expect(markOf({ ...verdict, kind: "nothing", is_good: false })).toBe("");
  expect(markOf(undefined)).toBe("");
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
