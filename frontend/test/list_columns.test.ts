import { describe, expect, test } from "vitest";
import { KINDS } from "../src/api/routes";
import {
  exportedColumns,
  grid,
  LIST_COLUMNS,
  moved,
  NO_CHOICE,
  offered,
  readChoice,
  type Shape,
  visibility,
  writeChoice,
} from "../src/model/list_columns";
import { random } from "./random";

const LISTS = ["graph_executions", "executions", ...KINDS] as const;
const RICH: Shape = {
  width: 1600,
  hasLayers: true,
  hasDevices: true,
  hasProcesses: true,
  hasMoments: true,
  known: new Set(["index", "name", "ops", "computed", "bad"]),
};
const POOR: Shape = {
  width: 390,
  hasLayers: false,
  hasDevices: false,
  hasProcesses: false,
  hasMoments: false,
  known: new Set(["name", "ops", "computed", "bad"]),
};
const idsOf = (columns: readonly { readonly id: string }[]) => columns.map(({ id }) => id);

describe("the columns of a list", () => {
  test.each(LISTS)("of %s have different names", (list) => {
    expect(new Set(idsOf(LIST_COLUMNS[list])).size).toBe(LIST_COLUMNS[list].length);
  });

  test("that a run does not have are neither offered nor shown", () => {
    const shown = { ...NO_CHOICE, shown: { max: true, layer: true, host: true } };
    const there = visibility("graph_executions", POOR, shown);
    expect([there.max, there.layer, there.host]).toEqual([false, false, false]);
    expect(idsOf(offered("graph_executions", POOR))).not.toContain("max");
    expect(idsOf(offered("graph_executions", RICH))).toContain("max");
  });

  test("of things are those that the server knows something of", () => {
    expect(idsOf(offered("ops", RICH))).toEqual(["index", "name", "ops", "computed", "bad"]);
    const there = visibility("layers", POOR, NO_CHOICE);
    expect(Object.keys(there).filter((id) => there[id])).toEqual(["name", "computed", "bad"]);
  });

  test("are few where there is no room, unless the reader chose them", () => {
    const shown = (choice = NO_CHOICE) =>
      Object.entries(visibility("graph_executions", POOR, choice)).flatMap(([id, is]) => (is ? [id] : []));
    expect(shown()).toEqual(["index", "tensor", "counts"]);
    expect(shown({ ...NO_CHOICE, shown: { dtype: true, counts: false } })).toEqual([
      "index",
      "tensor",
      "dtype",
    ]);
  });

  test("have their least width, or the one that was chosen", () => {
    const [index, time, tensor] = LIST_COLUMNS.graph_executions;
    if (index === undefined || time === undefined || tensor === undefined) throw new Error("no columns");
    const { template, width } = grid([index, tensor], { ...NO_CHOICE, widths: { tensor: 300 } }, 8);
    expect([template, width]).toEqual(["66px 300px", 66 + 300 + 9 + 12]);
    expect(grid([tensor], NO_CHOICE, 1).template).toBe("minmax(84px, 2.2fr)");
    expect(exportedColumns([index, tensor])).toEqual(["index", "op_name", "slot"]);
  });
});

describe("a choice of columns", () => {
  test.each(LISTS)("of %s is read as it was written", (list) => {
    const next = random(3);
    const ids = idsOf(LIST_COLUMNS[list]);
    for (let i = 0; i < 200; i++) {
      const some = ids.filter(() => next(2) === 0);
      const order = ids.toSorted(() => next(3) - 1);
      const choice = {
        shown: Object.fromEntries(some.map((id) => [id, next(2) === 0])),
        order: next(2) === 0 ? [] : order,
        widths: Object.fromEntries(some.map((id) => [id, 1 + next(900)])),
      };
      expect(readChoice(writeChoice(choice), list)).toEqual(choice);
    }
  });

  test.each([
    undefined,
    "",
    "[",
    "null",
    "3",
    '{"shown":3,"order":{},"widths":[null]}',
    '{"widths":{"max":-1}}',
  ])("that is %s is none", (text) => expect(readChoice(text, "graph_executions")).toEqual(NO_CHOICE));

  test("of an earlier version gets the columns that are new, after those that they follow", () => {
    const { order } = readChoice('{"order":["tensor","index","nobody","tensor"]}', "graph_executions");
    expect([...order].sort()).toEqual(idsOf(LIST_COLUMNS.graph_executions).sort());
    expect(order.indexOf("wall_time")).toBe(order.indexOf("index") + 1);
  });

  test("moves a column before another one, or to the end", () => {
    expect(moved(["a", "b", "c"], "c", "a")).toEqual(["c", "a", "b"]);
    expect(moved(["a", "b", "c"], "a", undefined)).toEqual(["b", "c", "a"]);
    expect(moved(["a", "b", "c"], "a", "a")).toEqual(["a", "b", "c"]);
  });
});
