/** `src/store/comparison.ts`: when two runs are compared, and what comes into focus then. */
import { describe, expect, test } from "vitest";
import type { Fetch } from "../src/api/fetch";
import { executionIndex, type RunName, runName } from "../src/base/ids";
import type { Link } from "../src/model/link";
import { readLink, writeLink } from "../src/model/link";
import { encodeColumns } from "./encode";
import type { Answer } from "./fixture/answer";
import { makeFixture } from "./fixture/fixture";
import { focusText } from "./focus_text";
import { answering, openStore, pause, testOn } from "./open_store";

const [FIRST, OTHER] = [runName("digits/first"), runName("digits/other")];

/** Log:0 in step 5 of the fixture. */
const SIDE = {
  op_type: "Log",
  op_name: "Log",
  output_slot: 0,
  graph_id: "g-loss",
  graph_execution_index: 57,
};
const EAGER = { op_type: "Mul", output_slot: 1, execution_index: 12 };

function difference(first: object) {
  return { first, second: first, paired_by: "name", occurrence: 5, tolerance: 1e-6, compared: 40, what: "" };
}

const DIFFERENCE = { ...difference(SIDE), headline: "Log", explanation: "", cause: "numerics", inputs: [] };
const ANSWER = {
  first_difference: DIFFERENCE,
  headline: "First difference: Log",
  tensors: [difference(SIDE), difference(EAGER)],
  num_tensors: 2,
  changes: [],
  num_changes: 0,
  num_compared: 400,
  num_compared_tensors: 10,
  notes: [],
};

/** The fixture as two runs, the second of which can still be read. */
function server() {
  const base = makeFixture({ steps: 40, illFrom: 40, status: { not_recorded: [], notices: [] } });
  /** `other` is of the second run: fields that replace those of its status, or another answer. */
  const state = { log: [] as string[], other: {} as object };
  const answer = (route: string, query: URLSearchParams): Answer => {
    if (route === "runs")
      return {
        json: {
          [FIRST]: { start_time: 2, title: FIRST, state: "unread" },
          [OTHER]: { start_time: 1, title: OTHER, state: "unread" },
        },
      };
    if (route === "compare") return { json: ANSWER };
    if (route === "compare/histories") return { bytes: histories() };
    const found = base(route, query);
    if (route !== "status" || query.get("run") !== OTHER) return found;
    if ("json" in state.other) return state.other as Answer;
    return { json: { ...("json" in found ? (found.json as object) : {}), ...state.other } };
  };
  const answers = answering(answer);
  const fetcher: Fetch = (url, init) => {
    state.log.push(url);
    return answers(url, init);
  };
  return { state, fetcher };
}

function histories(): ArrayBuffer {
  const rows = [57, 67].map((first_index, occurrence) => ({ occurrence, first_index }));
  const header = { generation: 1, begin: 0, total: 2, first: SIDE, second: SIDE, occurrence: 0 };
  const columns = { occurrence: { type: "f64" }, first_index: { type: "f64" } } as const;
  return encodeColumns(columns, rows, { ...header, is_unordered: false });
}

async function open(link: Link = { run: FIRST }) {
  const { state, fetcher } = server();
  const opened = await openStore(fetcher, link);
  state.log.length = 0;
  const compareWith = (other: RunName | undefined) =>
    opened.settled(opened.store.comparison.compareWith(other));
  return { state, compareWith, ...opened };
}

const it = testOn(open);

const asked = (log: readonly string[], route: string) => log.filter((url) => url.startsWith(`${route}?`));

describe("a comparison that the reader chose", () => {
  it("opens its panel and brings the first difference into focus", async ({ store, state, compareWith }) => {
    await compareWith(OTHER);
    expect(store.dock.open.value).toBe("comparison");
    expect(focusText(store)).toContain("step 5 Log:0");
    expect(asked(state.log, "compare")).toEqual(["compare?run=digits%2Ffirst&other=digits%2Fother"]);
    expect(asked(state.log, "compare/histories").at(-1)).toContain("graph_execution=57");
    expect(store.comparison.inFocus.value?.first.op_name).toBe("Log");
  });

  it("leaves the focus to a reader who chose something meanwhile", async ({ store, settled }) => {
    store.comparison.compareWith(OTHER);
    await settled(store.focusExecution(executionIndex(3)));
    expect(focusText(store)).toBe("call #3");
  });

  test("is kept by the link, which opens it again at the same place", async () => {
    const { store, settled, compareWith } = await open();
    await compareWith(OTHER);
    await settled(store.focusExecution(executionIndex(3)));
    const link = readLink(writeLink("#debugger", store.link.value));
    expect([link.run, link.other]).toEqual([FIRST, OTHER]);
    const { store: again } = await open(link);
    expect(again.comparison.compared.value?.kind).toBe("ready");
    expect(again.dock.open.value).toBe("comparison");
    expect(focusText(again)).toBe("call #3");
  });

  test("is closed together with its panel, and then asks nothing", async () => {
    const { store, state, settled, compareWith } = await open();
    await compareWith(OTHER);
    await compareWith(undefined);
    state.log.length = 0;
    await settled(store.focusExecution(executionIndex(3)));
    expect(store.dock.open.value).toBeUndefined();
    expect([...asked(state.log, "compare"), ...asked(state.log, "compare/histories")]).toEqual([]);
    expect(store.link.value.other).toBeUndefined();
  });

  test("is turned round when the other run comes into focus", async () => {
    const { store, state, settled, compareWith } = await open();
    await compareWith(OTHER);
    state.log.length = 0;
    await settled(store.selectRun(OTHER));
    expect([store.run.value, store.comparison.other.value]).toEqual([OTHER, FIRST]);
    expect(asked(state.log, "compare")).toEqual(["compare?run=digits%2Fother&other=digits%2Ffirst"]);
  });

  it("leads to the same tensor in the other run", async ({ store, state, settled, compareWith }) => {
    await compareWith(OTHER);
    state.log.length = 0;
    await settled(store.comparison.turnRound());
    expect([store.run.value, store.comparison.other.value]).toEqual([OTHER, FIRST]);
    expect(focusText(store)).toContain("step 5 Log:0");
    expect(asked(state.log, "compare/histories").at(-1)).toContain("run=digits%2Fother&graph_execution=57");
  });

  it("takes the tolerance of the reader for both routes", async ({ store, state, settled, compareWith }) => {
    await compareWith(OTHER);
    state.log.length = 0;
    await settled(store.comparison.allow(0.001));
    expect(asked(state.log, "compare").at(-1)).toContain("&tolerance=0.001");
    expect(asked(state.log, "compare/histories").at(-1)).toContain("&tolerance=0.001");
  });

  test("is never with itself, also by a hand-made link", async () => {
    const { store } = await open({ run: FIRST, other: FIRST });
    expect(store.comparison.other.value).toBeUndefined();
  });
});

describe("a run that is still being read", () => {
  test.each([
    ["with what is done", { loading: { bytes_done: 3, bytes_total: 12 } }, 0.25],
    ["before anything is", { json: { error: "The run is still being opened." }, status: 503 }, undefined],
  ])("is waited for, %s", async (_, other, share) => {
    const { store, state, tick } = await open();
    state.other = other;
    store.comparison.compareWith(OTHER);
    await pause(10);
    expect(store.comparison.reading.value).toEqual({ run: OTHER, share });
    expect(asked(state.log, "compare")).toEqual([]);
    state.other = {};
    await tick();
    expect(store.comparison.reading.value).toBeUndefined();
    expect(store.comparison.compared.value?.kind).toBe("ready");
  });

  it("is compared as it is when the reader does not want to wait", async ({ store, state, tick }) => {
    state.other = { loading: { bytes_done: 3, bytes_total: 12 }, finished: true };
    store.comparison.compareWith(OTHER);
    await pause(10);
    store.comparison.hurry();
    await tick();
    const compared = store.comparison.compared.value;
    expect(compared?.kind === "ready" && compared.value.isFinal).toBe(false);
  });

  it("is not waited for any more when the comparison is closed", async ({ store, state, timer, tick }) => {
    state.other = { loading: { bytes_done: 3, bytes_total: 12 } };
    store.comparison.compareWith(OTHER);
    await pause(10);
    store.comparison.compareWith(undefined);
    await tick();
    state.log.length = 0;
    timer.fire();
    await pause(10);
    expect(state.log.filter((url) => url.includes("other"))).toEqual([]);
  });

  it("whose program goes on can be compared again", async ({ store, state, settled, compareWith }) => {
    state.other = { finished: false };
    await compareWith(OTHER);
    const compared = store.comparison.compared.value;
    expect(compared?.kind === "ready" && compared.value.isFinal).toBe(false);
    state.log.length = 0;
    state.other = {};
    await settled(store.comparison.compareAgain());
    const later = store.comparison.compared.value;
    expect(later?.kind === "ready" && later.value.isFinal).toBe(true);
    expect(asked(state.log, "compare")).toHaveLength(1);
  });
});

describe("the tensor in focus", () => {
  it("is the chosen output of an execution", async ({ store, state, settled, compareWith }) => {
    await compareWith(OTHER);
    const eager = store.comparison.compared.value;
    const side = eager?.kind === "ready" ? eager.value.answer.tensors[1]?.first : undefined;
    if (side !== undefined) store.comparison.goTo(side);
    await settled();
    expect(focusText(store)).toBe("call #12");
    expect(asked(state.log, "compare/histories").at(-1)).toContain("execution=12&slot=1");
    await settled(store.focusExecution(executionIndex(13)));
    expect(asked(state.log, "compare/histories").at(-1)).toContain("execution=13&slot=0");
  });

  it("goes through its occurrences", async ({ store, settled, compareWith }) => {
    await compareWith(OTHER);
    const loaded = store.comparison.histories.value;
    if (loaded?.kind === "ready") store.comparison.goToRow(loaded.value, 1);
    await settled();
    expect(store.graphExecution.value).toBe(67);
  });
});
