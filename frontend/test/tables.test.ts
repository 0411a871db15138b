/** `store/tables` and the wishes of `store/lists`: what the lists ask the server for. */
import { describe, expect, test } from "vitest";
import type { RunName } from "../src/base/ids";
import { shown } from "../src/base/loaded";
import { readFilter, readOrder, writeFilter } from "../src/model/filters";
import type { Link } from "../src/model/link";
import { encodeColumns } from "./encode";
import { type FixtureOptions, makeFixture } from "./fixture/fixture";
import { asked, openStore, response } from "./open_store";

const ILL: FixtureOptions = { steps: 40, illFrom: 5 };
const THINGS = encodeColumns(
  { name: { type: "i32", dictionary: true }, computed: { type: "f64" }, bad: { type: "f64" } },
  [
    { name: "dense", computed: 3, bad: 1 },
    { name: null, computed: 9, bad: 0 },
    { name: "unused", computed: 0, bad: 0 },
  ],
  { generation: 1, begin: 0, end: 3, total: 3 },
);

/** A store, and what it asked a route for. */
async function open(link: Link = {}) {
  const fixture = makeFixture(ILL);
  const log: [string, URLSearchParams][] = [];
  const opened = await openStore(async (url) => {
    const [route, query] = asked(url);
    log.push([route, query]);
    if (route === "columns/inventory") return new Response(THINGS);
    if (route === "export") return new Response("index\top\n1\tLog\n");
    return response(fixture(route, query));
  }, link);
  const of = (route: string) => log.filter(([name]) => name === route).map(([, query]) => query);
  return { ...opened, of, last: (route: string) => Object.fromEntries(of(route).at(-1) ?? []) };
}

describe("the list that is shown at first", () => {
  const EAGER = { num_graph_executions: 0, num_bad_graph_executions: 0 };
  async function listOf(status: Readonly<Record<string, unknown>>, link: Link = {}) {
    const fixture = makeFixture({ ...ILL, status });
    const { store } = await openStore(async (url) => response(fixture(...asked(url))), link);
    return store.shownList.value;
  }

  test("is that of executions if nothing ran in a graph", async () => {
    expect(await listOf(EAGER)).toBe("executions");
    expect(await listOf({})).toBe("graph_executions");
    expect(await listOf({ ...EAGER, num_executions: 0 })).toBe("graph_executions");
  });

  test("is that of graph executions while these may still come, or are filtered", async () => {
    expect(await listOf({ ...EAGER, finished: false })).toBe("graph_executions");
    expect(await listOf(EAGER, { filter: readFilter("op=Log") })).toBe("graph_executions");
  });

  test("is chosen again with another run", async () => {
    let status: Readonly<Record<string, unknown>> = EAGER;
    const opened = await openStore(async (url) => response(makeFixture({ ...ILL, status })(...asked(url))));
    expect(opened.store.shownList.value).toBe("executions");
    status = {};
    await opened.settled(opened.store.selectRun("digits/second" as RunName));
    expect(opened.store.shownList.value).toBe("graph_executions");
  });
});

describe("the wish for a list", () => {
  test("becomes the parameters of its rows and of the position of the row in focus", async () => {
    const { store, settled, last } = await open();
    for (const term of readFilter("op=Log max>1 max<9")) await settled(store.addTerm(term));
    await settled(store.wish({ order: readOrder("-max"), more: ["std"] }));
    const chosen = { op_type: "^Log$", where: "max>1,max<9", sort: "max", descending: "true" };
    expect(last("columns/graph_executions")).toMatchObject({ ...chosen, with: "std" });
    expect(last("locate")).toMatchObject(chosen);
    expect(store.link.value).toMatchObject({
      filter: readFilter("op=Log max>1 max<9"),
      sort: { column: "max", descending: true },
    });
  });

  test("of one list leaves the other as it is", async () => {
    const { store, settled, of, last } = await open();
    await settled(store.showList("executions"));
    for (const term of readFilter("op:train")) await settled(store.addTerm(term));
    expect(last("columns/executions")).toMatchObject({ op_type: "train" });
    expect(of("columns/graph_executions").some((query) => query.has("op_type"))).toBe(false);
    expect(store.link.value).toMatchObject({ list: "executions", filter: readFilter("op:train") });
    await settled(store.showList("graph_executions"));
    expect(store.link.value.filter).toBeUndefined();
  });

  test("is restored by a link, also by one of an earlier version", async () => {
    const { store } = await open({
      list: "executions",
      filter: readFilter("op:train"),
      sort: readOrder("-line"),
    });
    const { filter, order } = store.wishes.executions.value;
    expect([store.shownList.value, writeFilter(filter), order]).toEqual([
      "executions",
      "op:train",
      { column: "line", descending: true },
    ]);
    const earlier = await open({ host: "h1", layer: "dense" });
    expect(writeFilter(earlier.store.wishes.graph_executions.value.filter)).toBe("process:h1 layer:dense");
    expect(earlier.store.shownProcess.value).toBe("h1");
  });

  test("is for the bad rows or for one health, and is forgotten with the run", async () => {
    const { store, settled } = await open();
    await settled(store.setOnlyBad(true));
    for (const term of readFilter("health:nan op:Log")) await settled(store.addTerm(term));
    expect(store.onlyBad.value).toBe(false);
    await settled(store.setOnlyBad(true));
    expect(writeFilter(store.wishes.graph_executions.value.filter)).toBe("op:Log");
    await settled(store.forgetWishes());
    expect(store.wishes.graph_executions.value.filter).toEqual([]);
  });
});

describe("things, completion and files", () => {
  test("are of the rows that are shown", async () => {
    const { store, settled, last } = await open();
    for (const term of readFilter("fn:train")) await settled(store.addTerm(term));
    await settled(store.setOnlyBad(true));
    await settled(store.showList("layers"));
    const chosen = { kind: "layers", function: "train", health: "bad", sort: "bad", descending: "true" };
    expect(last("columns/inventory")).toMatchObject(chosen);
    expect(store.thingPages.value?.total.value).toBe(3);
    expect(store.tables.address(["name"], "csv")).toContain(
      "list=layers&columns=name&format=csv&health=bad&function=train&sort=bad",
    );
    expect(await store.tables.text(["name"])).toEqual({ text: "index\top\n1\tLog\n" });
    expect(last("export")).toMatchObject({ list: "layers", format: "tsv", limit: "5000", function: "train" });
  });

  test("have the filter of the graph executions and an order of their own, which a link restores", async () => {
    const { store, settled, last } = await open();
    await settled(store.showList("ops"));
    for (const term of readFilter("layer=dense")) await settled(store.addTerm(term));
    await settled(store.wish({ order: readOrder("name") }));
    expect(last("columns/inventory")).toMatchObject({ kind: "ops", layer: "^dense$", sort: "name" });
    expect(store.link.value).toMatchObject({ list: "ops", sort: readOrder("name") });
    const { store: restored } = await open(store.link.value);
    expect([restored.shownList.value, restored.thingOrder.value]).toEqual(["ops", readOrder("name")]);
    await settled(store.showList("graph_executions"));
    expect(store.link.value).toMatchObject({
      list: undefined,
      filter: readFilter("layer=dense"),
      sort: undefined,
    });
    await settled(store.forgetWishes());
    expect(store.thingOrder.value).toEqual(readOrder("-bad"));
  });

  test("of names ask for all rows, because another name may be wanted", async () => {
    const { store, settled, last } = await open();
    for (const term of readFilter("fn:train")) await settled(store.addTerm(term));
    await settled(store.tables.complete("layers"));
    expect(last("columns/inventory")).not.toHaveProperty("function");
    expect(shown(store.tables.names.value)).toEqual({
      kind: "layers",
      names: [{ value: "dense", count: 3 }],
    });
  });
});
