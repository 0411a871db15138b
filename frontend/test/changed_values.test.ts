import { expect, test } from "vitest";
import { executionIndex, graphExecutionIndex, graphId } from "../src/base/ids";
import { changesByExecution, changesOf, changesText, recordOf } from "../src/model/changed_values";

const OF_GRAPH = {
  host: "worker0",
  wall_time: 1000,
  graph_id: graphId("g"),
  op_name: "Log",
  slot: 0,
  expression: "np.nan_to_num(value)",
  graph_execution: graphExecutionIndex(4),
  execution: undefined,
  owner_execution_index: executionIndex(7),
};
const EAGER = {
  ...OF_GRAPH,
  graph_id: undefined,
  op_name: "Add_1",
  slot: 1,
  expression: "0",
  graph_execution: undefined,
  execution: executionIndex(4),
  owner_execution_index: undefined,
};
const LOST = { ...OF_GRAPH, graph_execution: undefined, owner_execution_index: undefined };
const ALL = [OF_GRAPH, EAGER, LOST];

test("a change belongs to the record of the value before, in the list of its kind", () => {
  expect(changesOf(ALL, { graphExecution: 4 })).toEqual([OF_GRAPH]);
  expect(changesOf(ALL, { graphExecution: 5 })).toEqual([]);
  expect(changesOf(ALL, { execution: 4 })).toEqual([EAGER]);
  expect(changesOf(ALL, { execution: 4, slot: 0 })).toEqual([]);
  expect(changesOf(ALL, { execution: 4, slot: 1 })).toEqual([EAGER]);
});

test("a change without a record belongs to no row", () => {
  expect(changesOf(ALL, {})).toEqual([]);
});

test("the record of a change is that of the value view", () => {
  expect(changesOf(ALL, recordOf({ kind: "graph_execution", index: graphExecutionIndex(4) }))).toEqual([
    OF_GRAPH,
  ]);
  expect(changesOf(ALL, recordOf({ kind: "execution", index: executionIndex(4), slot: 1 }))).toEqual([EAGER]);
});

test("a change is found by the execution that it was made in", () => {
  expect([...changesByExecution([...ALL, OF_GRAPH])]).toEqual([
    [7, [OF_GRAPH, OF_GRAPH]],
    [4, [EAGER]],
  ]);
});

test("each change is told in a line", () => {
  expect(changesText([OF_GRAPH, EAGER]).split("\n").slice(1)).toEqual([
    "Log:0 was set to np.nan_to_num(value)",
    "Add_1:1 was set to 0",
  ]);
});
