import { effect } from "@preact/signals";
import { describe, expect, test } from "vitest";
import type { Fetch } from "../src/api/fetch";
import {
  alertIndex,
  executionIndex,
  fileIndex,
  frameId,
  graphExecutionIndex,
  graphId,
  runName,
} from "../src/base/ids";
import { shown } from "../src/base/loaded";
import { writeFilter } from "../src/model/filters";
import type { Link } from "../src/model/link";
import { graphExecutionRow } from "../src/model/rows";
import { firstCauseLabel } from "../src/model/verdict";
import type { Store } from "../src/store/store";
import type { Answer } from "./fixture/answer";
import { type FixtureOptions, makeFixture } from "./fixture/fixture";
import { focusText, phrasesText } from "./focus_text";
import { answering, openStore, pause, response, testOn } from "./open_store";

/** The fixture as a server for the real `api`. Its run can be replaced, and it logs its requests. */
function server(options: FixtureOptions) {
  const state = { answer: makeFixture(options), down: false, log: [] as string[] };
  const answers = answering((route, query) => state.answer(route, query));
  const fetcher: Fetch = async (url, init) => {
    state.log.push(url);
    if (state.down) throw new TypeError("down");
    return answers(url, init);
  };
  return { state, fetcher };
}

const query = (parameters: Record<string, string>) => new URLSearchParams(parameters);
const read = (answer: Answer) => ("json" in answer ? answer.json : undefined);

async function open(options: FixtureOptions, link: Link = {}) {
  const { state, fetcher } = server(options);
  return { state, ...(await openStore(fetcher, link)) };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** The first bad tensor is Log:0 of step 5. A step has 10 tensors and 10 calls. */
const ILL = { steps: 40, illFrom: 5 };
const it = testOn(() => open(ILL));

describe("a run with bad values", () => {
  it("opens at the first one, with its diagnosis, call, op, stack and source", async ({ store }) => {
    const found = store.origins.value.shown?.phrases;
    expect(phrasesText(found?.what ?? [])).toBe(
      "Log (tensor Log:0 in function loss) produced 200 −∞ out of 1,000 values.",
    );
    expect(phrasesText(found?.why ?? [])).toBe("Its input probs:0 held 200 zeros: the logarithm of 0 is −∞.");
    expect(phrasesText(found?.where ?? [])).toBe(
      "losses.py:14 return tf.reduce_mean(-labels * tf.math.log(probs))",
    );
    expect(focusText(store)).toBe("alert 0 · step 5 Log:0 · call #51");
    expect(store.shownFrame.value?.path).toBe("/home/user/losses.py");
    expect(shown(store.source.value)?.lines[13]).toContain("tf.math.log(probs)");
  });

  it("asks for the status once when it opens", async ({ state }) => {
    expect(state.log.filter((url) => url.startsWith("status"))).toHaveLength(1);
  });

  it("marks the rows that are inputs of the op in focus", async ({ store }) => {
    expect([...store.inputGraphExecutions.value]).toEqual([54]);
  });

  it("asks one question about a tensor in the call in focus", async ({ state, store, settled }) => {
    state.log.length = 0;
    await settled(store.focusGraphExecution(graphExecutionIndex(54)));
    expect(state.log.map((url) => url.split("?")[0])).toEqual(["graphs/op_info"]);
    expect(shown(store.stack.value)?.map(({ line }) => line)).toContain(14);
  });

  it("shows a row of a filtered list without its neighbours in the run", async ({
    state,
    store,
    settled,
  }) => {
    await settled(store.setOnlyBad(true));
    const page = await store.graphExecutionPages.value?.fetchAt(100);
    const row = page && graphExecutionRow(page, 100 - page.begin);
    state.log.length = 0;
    if (row !== undefined) await settled(store.focusRow(row));
    expect(row?.index).toBeGreaterThan(256);
    expect(store.op.value?.graphExecution).toBe(row?.index);
    expect(state.log.filter((url) => url.startsWith("columns/"))).toEqual([]);
    await settled(store.setOnlyBad(false));
  });

  it("goes from alert to alert and stops at the ends", async ({ store, settled }) => {
    store.previousAlert();
    expect(store.alert.value).toBe(0);
    await settled(store.nextAlert());
    expect(focusText(store)).toBe("alert 1 · step 5 mul:0 · call #51");
    await settled(store.focusAlert(alertIndex(3)));
    expect(focusText(store)).toBe("alert 3 · step 6 Log:0 · call #61");
  });

  it("goes to an alert in one step", async ({ store }) => {
    const seen: string[] = [];
    const stop = effect(() => void seen.push(focusText(store)));
    await store.focusAlert(alertIndex(3));
    stop();
    expect(seen).toEqual(["alert 0 · step 5 Log:0 · call #51", "alert 3 · step 6 Log:0 · call #61"]);
  });

  it("goes along the graph and back, and the list goes with it", async ({ store, settled }) => {
    const consumer = shown(store.neighbourhood.value)?.consumers[0];
    expect(consumer).toMatchObject({ title: "mul", opType: "Mul", summary: { bad: true } });
    if (consumer !== undefined) store.follow(consumer.target);
    await settled();
    expect(focusText(store)).toBe("step 5 mul:0 · call #51");
    await settled(store.back());
    expect(focusText(store)).toBe("step 5 Log:0 · call #51");
  });

  test("brings into view the tensors of the call in focus, without a row in focus", async () => {
    const { store, settled } = await open(ILL);
    await settled(store.focusExecution(executionIndex(111)));
    expect(focusText(store)).toBe("call #111");
    expect(store.revealedGraphExecution.value).toBe(114);
  });

  test("goes from the argument of a function to the call, and on to the maker of its input", async () => {
    const { store, settled } = await open(ILL);
    await settled(store.focusGraphExecution(graphExecutionIndex(54)));
    const caller = shown(store.neighbourhood.value)?.inputs[0];
    expect(caller).toMatchObject({ title: "#51", opType: "call" });
    if (caller !== undefined) store.follow(caller.target);
    await settled();
    expect(focusText(store)).toBe("call #51");
    expect(shown(store.neighbourhood.value)?.inputs[0]).toMatchObject({
      title: "#50:0",
      target: { index: 50 },
    });
  });

  test("shows the stack of an execution in focus, and its inputs with their makers", async () => {
    const { store, settled } = await open(ILL);
    await settled(store.focusExecution(executionIndex(7)));
    expect(store.subject.value).toBe("execution");
    expect(store.shownFrame.value).toMatchObject({ path: "/home/user/train.py", line: 71 });
    expect(shown(store.neighbourhood.value)?.inputs[0]).toMatchObject({
      target: { kind: "execution", index: 6 },
    });
  });

  it("knows the position of a row in the list of bad ones", async ({ store, settled }) => {
    await store.focusGraphExecution(graphExecutionIndex(68));
    await settled(store.setOnlyBad(true));
    expect(store.graphExecutionPosition.value).toBe(4);
    expect(store.graphExecutionPages.value?.total.value).toBe(3 * 35);
  });

  test("shows the tensors of one host, and the position of the one in focus among them", async () => {
    const { store, settled } = await open(ILL);
    await store.focusGraphExecution(graphExecutionIndex(67));
    await settled(store.filterGraphExecutions("process", "h1"));
    expect(store.graphExecutionPages.value?.total.value).toBe(200);
    expect([store.leftOut.value, store.graphExecutionPosition.value]).toEqual([true, 33]);
    await settled(store.graphExecutionPages.value?.want(0, 50));
    const page = store.graphExecutionPages.value?.at(33);
    expect(page && graphExecutionRow(page, 33).index).toBe(67);
    await settled(store.filterGraphExecutions("process", ""));
    expect([store.leftOut.value, store.graphExecutionPages.value?.total.value]).toEqual([false, 400]);
  });

  it("lets the last of several quick choices win", async ({ store, settled }) => {
    for (const i of [10, 300, 22]) void store.focusGraphExecution(graphExecutionIndex(i));
    await settled();
    expect(focusText(store)).toBe("step 2 dense/MatMul:0 · call #20");
  });

  test("requests no more rows than are visible", async () => {
    const { state } = await open({ steps: 200_000, illFrom: 100_000 });
    const ranges = state.log
      .filter((url) => url.startsWith("columns/"))
      .map((url) => new URL(url, "http://h/").searchParams);
    for (const range of ranges)
      expect(Number(range.get("end")) - Number(range.get("begin"))).toBeLessThanOrEqual(1024);
    expect(ranges.length).toBeLessThan(5);
  });
});

test("an input that passes a tensor on has the numbers of that tensor, and its row", async () => {
  const { state, fetcher } = server(ILL);
  const { answer } = state;
  state.answer = (route, asked) => {
    const found = answer(route, asked);
    if (route !== "graphs/op_info") return found;
    const log = read(
      answer(route, query({ graph_id: "g-loss", op_name: "Log", at: asked.get("at") ?? "0" })),
    );
    const data = { ...(log as object), op_name: "b", op_type: "Identity", passes_on: true, outputs: [] };
    const same = { op_name: "Log", output_slot: 0, data: log };
    return { json: { ...(read(found) as object), inputs: [{ op_name: "b", output_slot: 0, data, same }] } };
  };
  const { store } = await openStore(fetcher, { trace: graphExecutionIndex(58) });
  expect(shown(store.neighbourhood.value)?.inputs[0]).toMatchObject({
    title: "b:0",
    same: "Log:0",
    summary: { bad: true, counts: { neg_inf: 200 } },
  });
  expect([...store.inputGraphExecutions.value]).toEqual([57]);
});

describe("a link", () => {
  test("leads back to the graph execution and the stack frame", async () => {
    const first = await open(ILL);
    await first.store.focusGraphExecution(graphExecutionIndex(58));
    first.store.focusFrame(frameId("f1"));
    const link = first.store.link.value;
    const { store } = await open(ILL, link);
    expect(store.link.value).toEqual(link);
    expect(store.shownFrame.value?.line).toBe(71);
  });

  test("leads back to the list of bad tensors and the position in the list of alerts", async () => {
    const first = await open(ILL);
    await first.store.focusAlert(alertIndex(9));
    await first.settled(first.store.setOnlyBad(true));
    const link = first.store.link.value;
    expect(link).toMatchObject({ onlyBad: true, alert: 9 });
    const { store, settled } = await open(ILL, link);
    expect(store.link.value).toEqual(link);
    expect(focusText(store)).toBe("alert 9 · step 8 Log:0 · call #81");
    expect(store.graphExecutionPages.value?.total.value).toBe(3 * 35);
    const { onlyBad: _, alert: __, ...old } = link;
    await store.open(old);
    expect([store.onlyBad.value, focusText(store)]).toEqual([false, "step 8 Log:0 · call #81"]);
    await settled(store.open({ ...link, alert: alertIndex(3) }));
    expect(store.alert.value).toBeUndefined();
  });

  test("leads to an execution, and to an op without a graph execution", async () => {
    const { store } = await open(ILL, { execution: executionIndex(12) });
    expect(focusText(store)).toBe("call #12");
    const other = await open(ILL, { graph: graphId("g-loss"), op: "Mean" });
    expect(other.store.op.value).toMatchObject({ opName: "Mean" });
  });

  test("to a missing run opens another run, and to a missing row shows a sentence", async () => {
    const lost = await open(ILL, { run: runName("no such run"), trace: graphExecutionIndex(3) });
    expect(lost.store.run.value).toBe("digits/first");
    expect(focusText(lost.store)).toBe("alert 0 · step 5 Log:0 · call #51");
    const { store } = await open(ILL, { trace: graphExecutionIndex(999_999) });
    expect(store.problem.value).toBe("There is no graph execution 999999.");
  });
});

describe("a search by name", () => {
  const best = (store: Store) => shown(store.found.value)?.groups[0]?.matches[0]?.title;

  /** Searches for a text and goes to the result at a position. */
  async function goTo({ store, settled }: Pick<Opened, "store" | "settled">, text: string) {
    await settled(store.search(text, "now"));
    const [match] = shown(store.found.value)?.groups.flatMap(({ matches }) => matches) ?? [];
    await settled(match && store.jump(match.jump));
    return match?.title;
  }

  it("begins when the reader pauses", async ({ store, state, settled, tick }) => {
    for (const text of ["p", "pr", "pro "]) store.search(text);
    await settled();
    expect(store.found.value).toBeUndefined();
    await tick();
    expect(best(store)).toBe("probs");
    expect(state.log.filter((url) => url.startsWith("find"))).toEqual([
      "find?run=digits%2Ffirst&text=pro&limit=9",
    ]);
    store.search("");
    expect(store.found.value).toBeUndefined();
  });

  test("shows the newest results, even if older ones arrive later", async () => {
    const { fetcher } = server(ILL);
    const late: (() => void)[] = [];
    const slow: Fetch = async (url, init) => {
      if (url.includes("text=probs")) await new Promise<void>((resolve) => late.push(resolve));
      return fetcher(url, init);
    };
    const { store, settled } = await openStore(slow);
    store.search("probs", "now");
    store.search("labels", "now");
    await pause(5);
    expect(best(store)).toBe("labels");
    for (const answer of late) answer();
    await settled();
    expect(best(store)).toBe("labels");
    expect(late).toHaveLength(1);
  });

  test("leads to the first bad value of an op or a tensor, else to the last value", async () => {
    const { store, settled } = await open(ILL);
    await store.focusGraphExecution(graphExecutionIndex(3));
    expect(await goTo({ store, settled }, "mean:0")).toBe("Mean:0");
    expect(focusText(store)).toBe("step 5 Mean:0 · call #51");
    expect(await goTo({ store, settled }, "Softmax")).toBe("Softmax");
    expect(focusText(store)).toBe("step 39 Softmax:0 · call #390");
    expect(store.problem.value).toBeUndefined();
  });

  it("leads to the first call of a function, else to the first tensor in it", async ({ store, settled }) => {
    expect(await goTo({ store, settled }, "loss")).toBe("loss");
    expect(focusText(store)).toBe("call #1");
    await goTo({ store, settled }, "model");
    expect(focusText(store)).toBe("step 0 x:0 · call #0");
  });

  it("leads to a line of a file, which a link restores, until another choice", async ({ store, settled }) => {
    expect(await goTo({ store, settled }, "reduce_mean")).toBe("losses.py:14");
    expect(store.sourceLine.value).toMatchObject({ path: "/home/user/losses.py", line: 14, file: 1 });
    expect([store.shownFrame.value, store.link.value.file, store.link.value.line]).toEqual([
      undefined,
      1,
      14,
    ]);
    const link = store.link.value;
    await settled(store.focusFrame(frameId("f1")));
    expect([store.sourceLine.value?.line, store.link.value.file]).toEqual([71, undefined]);
    const other = await open(ILL, link);
    expect(other.store.link.value).toEqual(link);
    expect(other.store.sourceLine.value).toMatchObject({ path: "/home/user/losses.py", line: 14 });
  });

  it("leads to the tensors of a layer with any characters in its name", async ({ store }) => {
    await store.jump({ kind: "layer", name: "a.b/c" });
    expect(writeFilter(store.wishes.graph_executions.value.filter)).toBe("layer:^a\\.b/c(/|$)");
    expect(store.link.value.filter).toEqual([{ word: "layer", sign: ":", value: "^a\\.b/c(/|$)" }]);
  });

  test("leads to the last tensor of a graph before the focus, else to its first call", async () => {
    const { store, settled } = await open(ILL);
    await store.focusGraphExecution(graphExecutionIndex(58));
    await settled(store.focusGraph(graphId("g-model")));
    expect(focusText(store)).toBe("step 5 Softmax:0 · call #50");
    store.focusExecution(executionIndex(22));
    await settled(store.focusGraph(graphId("g-loss")));
    expect(focusText(store)).toBe("call #1");
  });

  it("for a function without a call ends with a sentence", async ({ store, settled }) => {
    await store.jump({ kind: "function", graph: graphId("g-none"), name: "__inference_none_7" });
    expect(store.problem.value).toBe("No call of none is on record.");
    await settled(store.jump({ kind: "line", file: fileIndex(0), line: 3 }));
    expect(store.sourceLine.value?.path).toBe("/home/user/train.py");
  });
});

describe("the origin of a bad value", () => {
  test("gives the chain from the value that was seen, and each of its steps leads to its op", async () => {
    const { store, settled } = await open(ILL);
    const steps = store.chain.value;
    expect(steps.map(({ title }) => title)).toEqual(["Mean:0", "mul:0", "Log:0"]);
    expect(store.chainStep.value?.isBirth).toBe(true);
    await settled(store.follow(steps[1]?.target ?? { kind: "nowhere" }));
    expect(focusText(store)).toBe("step 5 mul:0 · call #51");
    expect(store.chainStep.value?.position).toBe(1);
    await settled(store.focusExecution(executionIndex(7)));
    expect(store.chainStep.value).toBeUndefined();
  });

  it("that the reader chooses is explained, until another run is", async ({ store, settled }) => {
    const [first] = shown(store.originList.value) ?? [];
    if (first === undefined) throw new Error("There is no origin.");
    store.focusExecution(executionIndex(7));
    await settled(store.chooseOrigin(first));
    expect(focusText(store)).toBe("step 5 Log:0 · call #51");
    expect(store.origins.value.shown).toBe(first);
    store.selectRun(runName("digits/second"));
    expect(store.origin.value).toBeUndefined();
  });

  test("is not there when only alerts of other rules are; then the first cause is explained", async () => {
    const { store } = await open({ steps: 9, illFrom: 9, exploding: 2 });
    expect(shown(store.originList.value)).toEqual([]);
    const found = shown(store.firstBad.value);
    expect([found?.index, found && firstCauseLabel(found)]).toEqual([0, "First cause: "]);
  });
});

describe("a first cause that is not the first alert", () => {
  const LATE = { ...ILL, exploding: 3 };

  test("is where the page opens, and where the next alert begins when none is in focus", async () => {
    const { store, settled } = await open(LATE);
    expect(focusText(store)).toBe("alert 3 · step 5 Log:0 · call #51");
    expect(store.origins.value.shown?.graph_execution_index).toBe(57);
    await settled(store.previousAlert());
    expect(focusText(store)).toBe("alert 2 · step 2 dense/MatMul:0 · call #20");
    store.focusExecution(executionIndex(7));
    await settled(store.nextAlert());
    expect(focusText(store)).toBe("alert 3 · step 5 Log:0 · call #51");
  });

  test("stays the one that is explained when only alerts of another rule are shown", async () => {
    const { store, state, settled } = await open(LATE);
    await settled(store.setAlertType("ExplodingAlert"));
    expect(store.origins.value.shown?.graph_execution_index).toBe(57);
    expect(state.log.filter((url) => url.startsWith("origins?")).length).toBe(1);
    expect(store.alertList.value?.overview.value).toMatchObject({ start: 0, firstCause: undefined });
  });
});

describe("the alerts of one rule", () => {
  const BOTH = { ...ILL, exploding: 3 };
  const it = testOn(() => open(BOTH));

  it("are a list of their own, with positions of their own", async ({ store, settled }) => {
    expect(store.alertTypes.value.map(({ title, count }) => [title, count])).toEqual([
      ["NaN/∞", 105],
      ["Exploding", 3],
    ]);
    await settled(store.setAlertType("InfNanAlert"));
    expect(store.alertList.value?.pages.total.value).toBe(105);
    // The alert in focus stays, at its position in the shorter list.
    expect(focusText(store)).toBe("alert 0 · step 5 Log:0 · call #51");
    await store.focusAlert(alertIndex(1));
    expect(focusText(store)).toBe("alert 1 · step 5 mul:0 · call #51");
    await settled(store.setAlertType(undefined));
    expect([store.alertList.value?.pages.total.value, store.alert.value]).toEqual([108, 4]);
  });

  it("have no alert in focus while that of another rule is", async ({ store, settled }) => {
    await settled(store.setAlertType("ExplodingAlert"));
    expect(focusText(store)).toBe("step 5 Log:0 · call #51");
    await settled(store.nextAlert());
    expect(focusText(store)).toBe("alert 0 · step 0 dense/MatMul:0 · call #0");
    expect(store.alertTypes.value.map(({ count }) => count)).toEqual([105, 3]);
  });

  test("come back by a link, with the alert in focus", async () => {
    const first = await open(BOTH);
    await first.store.setAlertType("InfNanAlert");
    await first.settled(first.store.focusAlert(alertIndex(9)));
    const link = first.store.link.value;
    expect(link).toMatchObject({ alertType: "InfNanAlert", alert: 9 });
    const { store } = await open(BOTH, link);
    expect(store.link.value).toEqual(link);
    expect(store.alertList.value?.pages.total.value).toBe(105);
    expect(focusText(store)).toBe("alert 9 · step 8 Log:0 · call #81");
  });

  test("of a rule that the server does not have are none, and the rule can be released", async () => {
    const { store, settled } = await open(BOTH, { alertType: "<b>None" });
    expect(store.alertList.value?.pages.failure.value).toContain("There is no alert type");
    expect(store.alertTypes.value.map(({ id }) => id)).toEqual(["InfNanAlert", "ExplodingAlert", "<b>None"]);
    await settled(store.setAlertType(undefined));
    expect(store.alertList.value?.pages.total.value).toBe(108);
  });

  test("are counted anew with each generation, and forgotten with the run", async () => {
    const { store, state, settled, tick } = await open(BOTH);
    await settled(store.setAlertType("InfNanAlert"));
    state.answer = makeFixture({ ...BOTH, steps: 50, generation: 2 });
    await tick();
    expect(store.alertList.value?.pages.total.value).toBe(135);
    store.selectRun(runName("other"));
    expect(store.alertType.value).toBeUndefined();
  });
});

describe("the explanation", () => {
  const asked = (log: readonly string[]) =>
    log.filter((url) => url.startsWith("diagnosis")).map((url) => url.replace(/^.*?first&?/, ""));
  const words = (store: Store) => phrasesText(shown(store.explanation.value)?.why ?? []);

  it("is asked for where an output is bad, of ops and of executions", async ({ store, state, settled }) => {
    expect(words(store)).toBe("Its input probs:0 held 200 zeros: the logarithm of 0 is −∞.");
    await settled(store.focusGraphExecution(graphExecutionIndex(58)));
    expect(words(store)).toBe("Its input Log:0 already held 200 −∞.");
    await settled(store.focusGraphExecution(graphExecutionIndex(54)));
    expect(store.explanation.value).toBeUndefined();
    await settled(store.focusExecution(executionIndex(51)));
    expect(words(store)).toBe("Its input was finite.");
    expect(asked(state.log)).toEqual([
      "graph_id=g-loss&op_name=Log&at=57",
      "graph_id=g-loss&op_name=mul&at=58",
      "execution=51",
    ]);
  });

  it("of the origin is asked for again when the generation rises", async ({ store, state, tick }) => {
    state.answer = makeFixture({ ...ILL, steps: 50, generation: 2 });
    await tick();
    expect(state.log.filter((url) => url.startsWith("origins?"))).toHaveLength(2);
    expect(store.origins.value.shown?.graph_execution_index).toBe(57);
  });
});

describe("a kept call", () => {
  async function openKept(answer: Answer) {
    const { state, fetcher } = server(ILL);
    const bodies: unknown[] = [];
    const key = { current: () => "key", ask: async () => undefined };
    const found = await openStore(
      async (url, init) => {
        if (!url.startsWith("replay")) return fetcher(url, init);
        bodies.push(JSON.parse(init.body ?? ""));
        return response(answer);
      },
      {},
      key,
    );
    return { ...found, state, bodies };
  }

  test("runs again, and the origins are asked for once more", async () => {
    const { store, settled, state, bodies } = await openKept({ json: { tried: ["As it was, bad."] } });
    expect(store.replay.isOffered.value).toBe(false);
    const running = store.replay.start();
    expect(store.replay.isRunning.value).toBe(true);
    await settled(running);
    expect(bodies).toEqual([{ run: "digits/first" }]);
    expect(state.log.filter((url) => url.startsWith("origins?"))).toHaveLength(2);
    expect([store.replay.isRunning.value, store.replay.failure.value]).toEqual([false, undefined]);
  });

  test("that does not run says why", async () => {
    const { store, settled } = await openKept({ json: { error: "TensorFlow is needed." }, status: 503 });
    await settled(store.replay.start());
    expect(store.replay.failure.value).toBe("TensorFlow is needed.");
    expect(store.replay.isRunning.value).toBe(false);
  });
});

describe("a run without bad values", () => {
  test("opens at its first execution", async () => {
    const { store } = await open({ steps: 3, illFrom: 3 });
    expect(focusText(store)).toBe("call #0");
    expect(store.originList.value).toBeUndefined();
    expect(store.firstBad.value).toBeUndefined();
  });

  test("moves to the first bad value when one comes, unless the reader has chosen something", async () => {
    for (const chosen of [false, true]) {
      const { store, state, tick } = await open({ steps: 3, illFrom: 3 });
      if (chosen) store.focusExecution(executionIndex(2));
      state.answer = makeFixture({ steps: 9, illFrom: 5, generation: 2 });
      await tick();
      expect(store.status.value?.num_alerts).toBe(12);
      expect(focusText(store)).toBe(chosen ? "call #2" : "alert 0 · step 5 Log:0 · call #51");
    }
  });
});

describe("polling", () => {
  test("asks for no rows while nothing changes, and nothing at all while the tab is hidden", async () => {
    const { store, state, settled, tick } = await open(ILL);
    state.log.length = 0;
    await tick();
    expect(state.log).toEqual(["runs", "status?run=digits%2Ffirst"]);
    store.setSeen(false);
    await tick();
    expect(state.log).toHaveLength(2);
    await settled(store.setSeen(true));
    expect(state.log.length).toBeGreaterThan(2);
  });

  test("requests only the runs, and seldom, after the run has finished, until the reader comes back", async () => {
    const { store, state, timer, settled, tick } = await open(ILL);
    await tick(100);
    state.log.length = 0;
    for (let i = 0; i < 3; i++) {
      await tick();
    }
    expect(state.log).toEqual(["runs", "runs", "runs"]);
    expect(timer.seconds).toBe(15);
    state.answer = makeFixture({ steps: 50, illFrom: 5, generation: 2 });
    await settled(store.lookAgain());
    expect(store.status.value?.generation).toBe(2);
    expect(store.lists.value?.graphExecutions.total.value).toBe(500);
    await tick();
    expect(state.log.filter((url) => url.startsWith("status"))).toHaveLength(2);
  });

  it("finds a new run, and that the run in focus was recorded anew", async ({ store, state, tick }) => {
    for (const time of [100, 200]) {
      await tick(time);
    }
    const again = makeFixture({ steps: 50, illFrom: 5, generation: 2 });
    const runs = {
      "digits/first": { start_time: 1.8e9, title: "a", state: "unread" },
      other: { start_time: 1.9e9, title: "b", state: "unread" },
    };
    // The status of the run is old at first.
    const old = state.answer;
    state.answer = (route, query) => (route === "runs" ? { json: runs } : old(route, query));
    await tick();
    expect([...(shown(store.runs.value)?.keys() ?? [])]).toEqual(["digits/first", "other"]);
    expect(store.run.value).toBe("digits/first");
    state.answer = (route, query) => (route === "runs" ? { json: runs } : again(route, query));
    await tick();
    expect(store.status.value?.generation).toBe(2);
  });

  test("knows from the server that there is no run", async () => {
    const { fetcher, state } = server(ILL);
    state.answer = () => ({ json: {} });
    const { store } = await openStore(fetcher);
    expect(store.runs.value).toEqual({ kind: "ready", value: new Map() });
  });

  test("requests the unreadable places of the logdir, once from a server without the route", async () => {
    const problems = [{ location: "s3://b/x", message: "Access denied." }];
    const { store } = await open({ ...ILL, problems });
    expect(store.logdir.value).toEqual({ logdir: "/home/user/logs", problems });
    const without = await open({ ...ILL });
    const { answer } = without.state;
    without.state.answer = (route, asked) =>
      route === "logdir" ? { json: { error: "No such route." }, status: 404 } : answer(route, asked);
    for (const time of [100, 200, 300]) {
      await without.tick(time);
    }
    expect(without.state.log.filter((url) => url === "logdir")).toHaveLength(2);
    expect(without.store.connection.value).toBeUndefined();
  });

  test("knows that the run is silent until something is recorded", async () => {
    const live = { finished: false, end_time: 1000 };
    const { store, state, tick } = await open({ ...ILL, status: live });
    await tick(1100);
    expect(store.silent.value).toBe(false);
    await tick(1200);
    expect(store.silent.value).toBe(true);
    // The clock of the program is behind that of the page.
    state.answer = makeFixture({ ...ILL, generation: 2, status: live });
    await tick();
    expect(store.silent.value).toBe(false);
  });

  test("shows that the server is gone, and recovers when it is back", async () => {
    const { store, state, settled, tick } = await open(ILL);
    state.down = true;
    await tick();
    expect(store.connection.value).toContain("does not answer");
    expect(focusText(store)).toBe("alert 0 · step 5 Log:0 · call #51");
    await settled(store.focusExecution(executionIndex(7)));
    expect(store.neighbourhood.value?.kind).toBe("failed");
    state.down = false;
    await tick();
    expect(store.connection.value).toBeUndefined();
    expect(store.neighbourhood.value?.kind).toBe("ready");
    expect(store.shownFrame.value?.line).toBe(71);
  });
});
