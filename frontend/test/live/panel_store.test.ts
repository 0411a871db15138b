import { describe, expect, test } from "vitest";
import type { Fetch } from "../../src/api/fetch";
import type { LiveTensor } from "../../src/api/live";
import { graphId, liveTensorNumber, programId } from "../../src/base/ids";
import { shown } from "../../src/base/loaded";
import { expressionsOf } from "../../src/model/live/watches";
import { readRef, writeRef } from "../../src/model/values/value_ref";
import type { Store } from "../../src/store/store";
import { encodeColumns } from "../encode";
import { asked, openStore, testOn } from "../open_store";
import { breakpoint, call, KEYS, LiveServer, type Program, pause, program, tensor } from "./fixture";

const ID = programId("p1");
const numbered = (number: number, over: Partial<LiveTensor> = {}) =>
  tensor({ number: liveTensorNumber(number), ...over });

/** A server with the tensors of a call and with ops; it logs what is asked of the panels. */
class PanelServer extends LiveServer {
  call = 0;
  tensors: LiveTensor[] = [];
  opNames = ["Log", "mul"];
  readonly asked: string[] = [];
  isGone = false;
  evaluation: Record<string, unknown> = {};

  readonly answer: Fetch = async (url, init) => {
    const [route, query] = asked(url);
    if (/^live\/tensors|^graphs\/ops|^values/.test(route)) this.asked.push(url);
    if (route === "live/tensors") return this.#tensors(query);
    if (route === "graphs/ops") return new Response(this.#ops(Number(query.get("begin"))));
    if (route === "values/info" && query.has("tensor")) return this.#info(query);
    if (route === "live/evaluate") return Response.json(this.evaluation);
    return this.fetch(url, init);
  };

  #tensors(query: URLSearchParams): Response {
    const after = Number(query.get("after") ?? 0);
    const rest = this.tensors.filter(({ number }) => number > after);
    const tensors = rest.slice(0, 2);
    return Response.json({ call: this.call, tensors, total: this.tensors.length });
  }

  #ops(begin: number): ArrayBuffer {
    const rows = this.opNames.slice(begin).map((op_name) => ({ op_name, op_type: "Log", graph_id: "g1" }));
    const text = { type: "i32", dictionary: true } as const;
    const total = this.opNames.length;
    return encodeColumns({ op_name: text, op_type: text, graph_id: text }, rows, {
      generation: 1,
      begin,
      total,
    });
  }

  #info(query: URLSearchParams): Response {
    const found = this.tensors.find(({ number }) => number === Number(query.get("tensor")));
    if (found === undefined) return Response.json({ error: "It is gone." }, { status: 404 });
    const { slot, op_type, op_name, shape } = found;
    return Response.json({
      ...{ slot, op_type, op_name, shape, name: `${op_name}:${slot}`, wall_time: 0, dtype: "float32" },
      ...{ is_kept: true, num_occurrences: 1, occurrence: 0, size: 6, bytes: 24 },
    });
  }
}

const paused = (version: number, number: number, at: number, over = {}) =>
  program({}, { version, call: call({ number: at }), pause: pause({ number }), ...over });

async function open(server = new PanelServer()) {
  const opened = await openStore(server.answer, {}, KEYS);
  const change = (...programs: Program[]) => opened.settled(server.change(programs));
  return { panel: opened.store.livePanel, server, change, ...opened };
}

const it = testOn(open);

const numbersOf = (store: Store) => store.livePanel.rows.value.rows.map(({ number }) => number);

describe("the tensors of a program", () => {
  it("are requested only while somebody looks, and all of them", async ({ store, server, settled }) => {
    server.tensors = [numbered(1), numbered(2), numbered(3)];
    expect(server.asked).toEqual([]);
    await settled(store.dock.show("tensors"));
    expect(numbersOf(store)).toEqual([1, 2, 3]);
    expect(server.asked).toHaveLength(2);
  });

  test("grow at each pause by what is new, and begin anew with the next call", async () => {
    const { store, server, change, settled } = await open();
    server.tensors = [numbered(1)];
    await settled(store.dock.show("tensors"));
    server.tensors = [numbered(1), numbered(2)];
    await change(paused(2, 2, 0));
    expect(numbersOf(store)).toEqual([1, 2]);
    expect(server.asked.at(-1)).toContain("after=1");
    [server.call, server.tensors] = [1, [numbered(7)]];
    await change(paused(3, 3, 1));
    expect(numbersOf(store)).toEqual([7]);
    expect([...store.livePanel.seen.value.byKey.values()][0]).toHaveLength(3);
  });

  it("are requested again when values were dropped", async ({ store, server, change, settled }) => {
    server.tensors = [numbered(1), numbered(2)];
    await settled(store.dock.show("tensors"));
    server.tensors = [numbered(1, { has_value: false }), numbered(2)];
    await change(paused(2, 1, 0, { dropped_values: 1 }));
    expect(store.livePanel.rows.value.rows.map(({ has_value }) => has_value)).toEqual([false, true]);
  });

  test("are followed a few times a second while the program runs", async () => {
    const { store, server, change, timer, tick } = await open();
    store.dock.show("tensors");
    await change(program({}, { version: 2, phase: "running" }));
    const before = server.asked.length;
    server.tensors = [numbered(1)];
    expect(timer.seconds).toBe(0.5);
    await tick();
    expect(server.asked.length).toBe(before + 1);
    expect(numbersOf(store)).toEqual([1]);
  });

  it("of another program take their place", async ({ store, server, change, settled }) => {
    server.tensors = [numbered(5)];
    await settled(store.dock.show("tensors"));
    server.tensors = [numbered(2)];
    await change(program({ id: programId("p2") }));
    expect(numbersOf(store)).toEqual([2]);
  });

  it("have buttons that set and remove breakpoints and curves", async ({ panel, server, change }) => {
    await panel.toggleTensor(numbered(1));
    await panel.toggleWatch(numbered(1));
    const sent = server.posted.map(({ body }) => Object.keys(body.command as object)[0]);
    expect(sent).toEqual(["set_breakpoint", "watch"]);
    const where = { op_name: "Log", slot: 0, function_regex: "loss" };
    const [there] = [breakpoint(where, { number: 4 })];
    await change(
      paused(2, 1, 0, { breakpoints: [there], watched: [{ where: there.where, number: 9, points: [] }] }),
    );
    expect([panel.hasBreakpoint(numbered(1)), panel.isWatched(numbered(1))]).toEqual([true, true]);
    await panel.toggleTensor(numbered(1));
    await panel.toggleWatch(numbered(1));
    expect(server.posted.slice(2).map(({ body }) => body.command)).toMatchObject([
      { remove_breakpoint: 4 },
      { unwatch: 9 },
    ]);
  });
});

describe("the value of a program's tensor", () => {
  async function shownValue() {
    const opened = await open();
    opened.server.tensors = [numbered(1)];
    await opened.settled(opened.store.dock.show("tensors"));
    await opened.settled(opened.panel.showLiveValue(1));
    return opened;
  }

  test("is asked of the program, and named in the link", async () => {
    const { store, server } = await shownValue();
    expect(server.asked.some((url) => url === "values/info?program=p1&tensor=1")).toBe(true);
    expect(store.valueView.value?.info.name).toBe("Log:0");
    const ref = store.link.value.value;
    expect(ref && writeRef(ref)).toBe("l1.p1");
    expect(readRef("l1.p1")).toEqual(ref);
    expect(readRef(`l${2 ** 52}.host/1:2`)).toEqual({ kind: "live", tensor: 2 ** 52, program: "host/1:2" });
    expect([readRef("l1"), readRef("l.p1"), readRef("lx.p1")]).toEqual([undefined, undefined, undefined]);
  });

  test("is refreshed when the tensor is computed again, in the same slice", async () => {
    const { store, server, change } = await shownValue();
    store.setSlicing("[0]");
    [server.call, server.tensors] = [1, [numbered(6)]];
    await change(paused(2, 2, 1));
    expect(store.value.value).toEqual({ kind: "live", program: ID, tensor: 6 });
    expect(store.slicing.value).toBe("[0]");
    expect(store.livePanel.liveValue.value?.seen.map(({ call: of }) => of)).toEqual([0, 1]);
  });

  test("that is gone is said to be, with its numbers, and without a request", async () => {
    const { store, server, change } = await shownValue();
    [server.call, server.tensors] = [1, []];
    server.asked.length = 0;
    await change(paused(2, 2, 1));
    expect(store.valueView.value?.info).toMatchObject({
      is_kept: false,
      reason: expect.stringContaining("call 0"),
    });
    expect(server.asked.filter((url) => url.startsWith("values"))).toEqual([]);
    server.tensors = [numbered(6)];
    await change(paused(3, 3, 1));
    expect(store.valueView.value?.info.is_kept).toBe(true);
  });

  test("stays when the reader looks at an earlier time", async () => {
    const { store, panel, server, change } = await shownValue();
    server.tensors = [numbered(1), numbered(2)];
    await change(paused(2, 2, 0));
    expect(store.value.value).toMatchObject({ tensor: 2 });
    panel.showSeen(1, ID, false);
    server.tensors = [numbered(1), numbered(2), numbered(3)];
    await change(paused(3, 3, 0));
    expect(store.value.value).toMatchObject({ tensor: 1 });
    panel.showSeen(3, ID, true);
    expect(panel.isFollowing.value).toBe(true);
  });

  test("is requested again after it was changed", async () => {
    const { panel, server, change, settled } = await shownValue();
    await change(paused(2, 2, 0, { pause: pause({ number: 2, tensor: numbered(1), can_change: true }) }));
    server.asked.length = 0;
    await settled(panel.changeValue(" value * 2 "));
    expect(server.posted.at(-1)?.body.command).toEqual({
      change_value: { tensor: 1, expression: "value * 2" },
      pause_number: 2,
    });
    expect(panel.changed.value).toMatchObject({ pause: 2, done: true });
    expect(server.asked).toContain("values/info?program=p1&tensor=1");
  });

  test("that could not be changed says why", async () => {
    const { panel, server, change } = await shownValue();
    await change(paused(2, 2, 0, { pause: pause({ number: 2, tensor: numbered(1), can_change: true }) }));
    server.outcome = () => ({ done: false, sentence: "The shapes do not fit.", breakpoint: 0, state: null });
    await panel.changeValue("value[0]");
    expect(panel.changed.value).toEqual({ pause: 2, sentence: "The shapes do not fit.", done: false });
  });
});

describe("expressions", () => {
  const done = { done: true, text: "3.0", dtype: 1, shape: [], tensor: 2 ** 52, numbers: [] };

  it("have results, newest first, that can be opened", async ({ store, panel, server }) => {
    server.evaluation = done;
    await panel.evaluate(" `Log:0` ");
    server.evaluation = { ...done, done: false, text: "There is no tensor.", tensor: 0 };
    await panel.evaluate("`no:0`");
    await panel.evaluate("  ");
    const results = panel.evaluated.value.map(({ expression, result }) => [expression, shown(result)?.text]);
    expect(results).toEqual([
      ["`no:0`", "There is no tensor."],
      ["`Log:0`", "3.0"],
    ]);
    const result = panel.evaluated.value[1];
    if (result !== undefined) panel.showResult(result);
    expect(store.value.value).toEqual({ kind: "live", program: ID, tensor: 2 ** 52 });
    panel.forgetEvaluated(panel.evaluated.value[0]?.number ?? 0);
    expect(panel.evaluated.value).toHaveLength(1);
  });

  test("that are watched are evaluated anew at each pause while somebody looks", async () => {
    const { store, panel, server, change, settled } = await open();
    server.evaluation = done;
    const texts = () => panel.watches.value.map((one) => shown(panel.watchResults.value.of.get(one))?.text);
    await change(paused(2, 1, 0));
    await settled(panel.addWatch(" `Log:0` "));
    panel.addWatch("`Log:0`");
    expect([panel.watches.value, texts()]).toEqual([["`Log:0`"], [undefined]]);
    await settled(store.dock.show("evaluate"));
    expect(texts()).toEqual(["3.0"]);
    server.evaluation = { ...done, text: "4.0" };
    await settled(panel.addWatch("1 + 3"));
    expect(texts()).toEqual(["3.0", "4.0"]);
    await change(paused(3, 2, 0));
    expect(texts()).toEqual(["4.0", "4.0"]);
    panel.removeWatch("`Log:0`");
    expect(texts()).toEqual(["4.0"]);
  });

  test("that the browser kept are read again, and nothing else", () => {
    expect(expressionsOf('["a", "b", 3]')).toEqual(["a", "b"]);
    for (const wrong of [undefined, "{", "null", '{"a": 1}']) expect(expressionsOf(wrong)).toEqual([]);
  });

  it("that fail have the sentence of the failure", async ({ panel, server }) => {
    server.evaluation = { error: "not as agreed" };
    await panel.evaluate("1");
    expect(panel.evaluated.value[0]?.result.kind).toBe("failed");
  });
});

describe("the ops of a program", () => {
  test("are requested when the tree is open, and later only new ones", async () => {
    const { store, panel, server, settled } = await open();
    expect(server.asked).toEqual([]);
    await settled(store.dock.show("ops"));
    expect(shown(panel.ops.value)?.map(({ name }) => name)).toEqual(["Log", "mul"]);
    expect(server.asked).toEqual(["graphs/ops?run=digits%2Ffirst&begin=0"]);
    server.opNames.push("Mean");
    const status = store.status.value;
    if (status !== undefined) store.status.value = { ...status, generation: 9 };
    await settled();
    expect(shown(panel.ops.value)?.map(({ name }) => name)).toEqual(["Log", "mul", "Mean"]);
    expect(server.asked.at(-1)).toContain("begin=2");
  });

  it("lead to themselves in the other panes", async ({ store, panel }) => {
    panel.chooseTensor(numbered(1));
    expect(store.op.value).toMatchObject({ graph: graphId("g-loss"), opName: "Log" });
    expect(panel.chosenTensor.value).toBe(1);
    panel.chooseTensor(numbered(2, { graph_id: graphId("") }));
    expect(store.op.value).toMatchObject({ opName: "Log" });
  });
});
