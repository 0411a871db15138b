/** `store/graph/graph.ts`: what is asked for the picture of a graph, and when. */
import { describe, expect } from "vitest";
import { executionIndex, graphExecutionIndex, graphId } from "../../src/base/ids";
import { shown } from "../../src/base/loaded";
import type { Answer } from "../fixture/answer";
import { makeFixture } from "../fixture/fixture";
import { answering, openStore, testOn } from "../open_store";
import { near } from "./fixture";

const DRAWN = near("net/x > net/y > Log > mul", "Log", { "net/x": { distance: -2 } });
const SCOPED = { ...DRAWN, ops: DRAWN.ops.map((op) => ({ ...op, outputs: [] })) };
const OVERVIEW = {
  graph_id: "g",
  graph_name: "f",
  parts: [],
  edges: [],
  places: [],
  parts_left_out: 0,
  ops_left_out: 0,
};

/** A store with an op in focus, and the queries of the two routes. */
async function atAnOp() {
  const program = makeFixture({ steps: 4, illFrom: 2 });
  const queries: [string, Record<string, string>][] = [];
  const opened = await openStore(
    answering((name, query): Answer => {
      if (name !== "neighbours" && name !== "graphs/overview") return program(name, query);
      queries.push([name, Object.fromEntries(query)]);
      return { json: name === "neighbours" ? SCOPED : OVERVIEW };
    }),
  );
  const focus = { graph: graphId("g"), opName: "Log", graphExecution: undefined, owner: undefined };
  opened.store.focusOp(focus);
  await opened.settled();
  return { ...opened, queries };
}

const testIt = testOn(atAnOp);

describe("the picture of a graph", () => {
  testIt(
    "is asked for only while it is seen, and again for other hops",
    async ({ store, settled, queries }) => {
      expect(queries).toEqual([]);
      store.dock.show("graph");
      await settled();
      expect(queries.map(([name]) => name)).toEqual(["neighbours"]);
      expect(queries[0]?.[1]).toMatchObject({ graph_id: "g", op_name: "Log", hops: "2", limit: "120" });
      store.graph.setHops(9);
      await settled();
      expect(queries.at(-1)?.[1].hops).toBe("6");
      store.graph.setHops(Number.NaN);
      await settled();
      expect(queries).toHaveLength(2);
    },
  );

  testIt("opens a box, and closes all with another grouping", async ({ store, settled, queries }) => {
    store.dock.show("graph");
    store.graph.setGrouping("scope");
    await settled();
    const titles = () => shown(store.graph.picture.value)?.nodes.map(({ title }) => title);
    expect(titles()).toEqual(["Log", "net", "mul"]);
    store.graph.openBox(shown(store.graph.picture.value)?.nodes[1]?.opens ?? "");
    expect(titles()).toEqual(["Log", "x", "y", "mul"]);
    store.graph.setGrouping("scope");
    expect(titles()).toEqual(["Log", "net", "mul"]);
    expect(queries).toHaveLength(1);
  });

  testIt("may have more ops, up to a limit", async ({ store, settled, queries }) => {
    store.dock.show("graph");
    for (let i = 0; i < 5; i++) store.graph.showMore();
    await settled();
    expect(queries.at(-1)?.[1].limit).toBe("960");
    expect(store.graph.mayShowMore.value).toBe(false);
  });

  testIt("of a whole function is asked with what is open in it", async ({ store, settled, queries }) => {
    store.dock.show("graph");
    store.graph.setExtent("whole");
    store.graph.setPart("scope");
    store.graph.openBox("net");
    await settled();
    expect(queries.at(-1)).toMatchObject(["graphs/overview", { graph_id: "g", by: "scope", open: "net" }]);
    expect(queries.at(-1)?.[1].ops?.split(",").at(-1)).toBe("Log");
    expect(shown(store.graph.picture.value)?.nodes).toEqual([]);
  });

  testIt(
    "counts what is bad up to the tensor in focus, or at any time",
    async ({ store, settled, queries }) => {
      store.dock.show("graph");
      store.graph.setExtent("whole");
      await store.focusGraphExecution(graphExecutionIndex(3));
      await settled();
      expect(queries.at(-1)?.[1].at).toBe("3");
      store.graph.setUntil("end");
      await settled();
      expect(queries.at(-1)?.[1].at).toBeUndefined();
    },
  );

  testIt("is not of the op before, when an execution is in focus", async ({ store, settled, queries }) => {
    store.focusExecution(executionIndex(1));
    store.dock.show("graph");
    await settled();
    expect(queries).toEqual([]);
    expect(store.graph.picture.value).toBeUndefined();
  });
});
