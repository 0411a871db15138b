import { describe, expect, test } from "vitest";
import { decodeColumns } from "../src/api/columns";
import { KINDS } from "../src/api/routes";
import { graphExecutionIndex } from "../src/base/ids";
import { writeFilter } from "../src/model/filters";
import { isLong, KIND_TITLES, longOf, type Thing, termsOf, thingAt } from "../src/model/inventory";
import { encodeColumns } from "./encode";

const THING: Thing = {
  name: "dense",
  computed: 3,
  calls: 0,
  graph: undefined,
  first: undefined,
  host: undefined,
  time: undefined,
};
const dict = { type: "i32", dictionary: true } as const;
const f64 = { type: "f64" } as const;

describe("a list", () => {
  test("is a long one or one of things, which has the filter of the graph executions", () => {
    expect(["ops", "executions", "graph_executions"].map((list) => isLong(list as "ops"))).toEqual([
      ...[false, true, true],
    ]);
    expect([longOf("layers"), longOf("executions")]).toEqual(["graph_executions", "executions"]);
    expect(Object.keys(KIND_TITLES)).toEqual([...KINDS]);
  });
});

describe("a thing", () => {
  test("is read from a page; its first bad tensor comes before its first one", () => {
    const body = encodeColumns(
      { name: dict, graph_id: dict, computed: f64, first: f64, first_bad: f64 },
      [
        { name: "Log", graph_id: "g1", computed: 2, first: 4, first_bad: 7 },
        { name: "Mul", graph_id: "g1", computed: 2, first: 5, first_bad: null },
        { name: null, graph_id: null, computed: 0, first: null, first_bad: null },
      ],
      { generation: 1, begin: 0, end: 3, total: 3 },
    );
    const things = [0, 1, 2].map((row) => thingAt(decodeColumns(body), row));
    expect(things.map(({ first }) => first)).toEqual([
      graphExecutionIndex(7),
      graphExecutionIndex(5),
      undefined,
    ]);
    expect(things[0]).toMatchObject({ name: "Log", graph: "g1", computed: 2, calls: 0, time: undefined });
    expect(things[2]).toMatchObject({ name: undefined, graph: undefined });
  });

  test("becomes the filter that leaves its rows", () => {
    const written = (kind: (typeof KINDS)[number], parts: Partial<Thing> = {}) =>
      writeFilter(termsOf(kind, { ...THING, ...parts }));
    expect(written("layers")).toBe("layer=dense");
    expect(written("layers", { name: undefined })).toBe("layer:^$");
    expect(written("functions")).toBe("fn=dense");
    expect(written("variables")).toBe("variable=dense");
    expect(written("lines", { name: "/a/b.py:3" })).toBe("file:/a/b.py:3");
    expect(written("lines", { name: undefined })).toBe("");
    expect(written("processes", { name: "vm (1)" })).toBe('process:"vm (1)"');
    expect(written("threads")).toBe("");
    expect(written("ops")).toBe("");
    const time = { begin: 1.5, until: 2.25 };
    expect(written("session_runs", { name: undefined, time })).toBe("since:1.5 before:2.25");
    expect(written("session_runs", { time, host: "a" })).toBe("since:1.5 before:2.25 process:a");
  });
});
