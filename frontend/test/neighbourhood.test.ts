import { describe, expect, test } from "vitest";
import type { ExecutionData, OpInfo } from "../src/api/answers";
import { executionIndex, graphExecutionIndex, graphId } from "../src/base/ids";
import { cardTops, portOffset } from "../src/model/card_layout";
import { knownInputs, ofExecution, ofGraphOp, slotRanges } from "../src/model/neighbourhood";
import { CARD } from "../src/views/geometry";

/** An op as `op_info` answers it, with some fields replaced. */
function opInfo(more: Partial<OpInfo>): OpInfo {
  return {
    op_type: "Log",
    op_name: "Log",
    wall_time: undefined,
    output_tensor_ids: undefined,
    graph_id: graphId("g"),
    graph_name: "loss",
    graph_ids: [graphId("g")],
    graph_names: ["loss"],
    frames: { stack_frames: [], details: [] },
    stack_frame_ids: [],
    device_name: undefined,
    host_name: undefined,
    num_outputs: 1,
    passes_on: false,
    layer: undefined,
    variable: undefined,
    attributes: undefined,
    control_inputs: [],
    control_consumers: [],
    runs: [],
    forward: undefined,
    outputs: [],
    inputs: [],
    consumers: [[]],
    ...more,
  };
}

const G = graphId("g");

describe("the neighbours of an op in a graph", () => {
  test("lead to the graph execution that has their health", () => {
    const health = { graph_execution_index: graphExecutionIndex(48), bad: true, nan: 3 } as never;
    const output = { dtype: "float32", shape: [2, undefined], gradient_of: ["w"], health };
    const data = opInfo({ op_name: "probs", layer: "dense", outputs: [output] });
    const [card] = ofGraphOp(
      opInfo({ inputs: [{ op_name: "probs", output_slot: 0, data, same: undefined }] }),
      G,
      undefined,
    ).inputs;
    expect(card).toMatchObject({
      title: "probs:0",
      target: { kind: "op", graph: G, opName: "probs", graphExecution: 48 },
      summary: { shape: "[2, ?]", dtype: "float32", bad: true },
      mark: "∇ w",
      role: "gradient of w",
    });
  });

  test("that were not recorded lead nowhere", () => {
    const [card] = ofGraphOp(
      opInfo({ inputs: [{ op_name: "x", output_slot: 2, data: undefined, same: undefined }] }),
      G,
      undefined,
    ).inputs;
    expect(card).toMatchObject({ title: "x:2", opType: undefined, target: { kind: "nowhere" } });
  });

  test("of an argument are the call of its graph, when that is known", () => {
    const argument = opInfo({ op_type: "Placeholder" });
    expect(ofGraphOp(argument, G, executionIndex(9)).inputs[0]?.target).toEqual({
      kind: "execution",
      index: 9,
    });
    expect(ofGraphOp(argument, G, undefined).inputs).toEqual([]);
    expect(ofGraphOp(opInfo({}), G, executionIndex(9)).inputs).toEqual([]);
  });

  test("differ by the output that they take", () => {
    const taker = (name: string, input_slot = 0) => ({ op_name: name, input_slot, data: undefined });
    const { consumers } = ofGraphOp(
      opInfo({ num_outputs: 2, consumers: [[taker("a")], [taker("b", 2), taker("c")]] }),
      G,
      undefined,
    );
    expect(consumers.map(({ title, slot, takenAs }) => [title, slot, takenAs])).toEqual([
      ["a", 0, 0],
      ["b", 1, 2],
      ["c", 1, 0],
    ]);
    expect(new Set(consumers.map(({ key }) => key)).size).toBe(3);
  });
});

describe("an op that only passes its input on", () => {
  const health = { graph_execution_index: graphExecutionIndex(48), bad: true, nan: 3 } as never;
  const output = { dtype: "float32", shape: [2], gradient_of: [], health };
  const log = opInfo({ outputs: [output] });
  const unmeasured = { dtype: "float32", shape: [2], gradient_of: [], health: undefined };
  const identity = (name: string) =>
    opInfo({ op_type: "Identity", op_name: name, passes_on: true, outputs: [unmeasured] });
  const fromLog = { op_name: "Log", output_slot: 0, data: log, same: undefined };

  test("has the numbers of what it passes on, marked as such", () => {
    const op = ofGraphOp({ ...identity("result"), inputs: [fromLog] }, G, undefined);
    expect(op).toMatchObject({ same: "Log:0", outputs: [{ bad: true, counts: { nan: 3 } }] });
    expect(op.outputs[0]?.graphExecution).toBeUndefined();
  });

  test("has them as an input too, also through several such ops", () => {
    const input = { op_name: "result", output_slot: 0, data: identity("result"), same: fromLog };
    const { inputs } = ofGraphOp(opInfo({ inputs: [input] }), G, undefined);
    expect(inputs[0]).toMatchObject({ title: "result:0", same: "Log:0", summary: { bad: true } });
    const chained = ofGraphOp({ ...identity("last"), inputs: [input] }, G, undefined);
    expect(chained).toMatchObject({ same: "Log:0", outputs: [{ bad: true }] });
  });

  test("has those of its input as a consumer", () => {
    const taker = { op_name: "result", input_slot: 0, data: identity("result") };
    const { consumers } = ofGraphOp(opInfo({ outputs: [output], consumers: [[taker]] }), G, undefined);
    expect(consumers[0]).toMatchObject({ same: "Log:0", summary: { bad: true, counts: { nan: 3 } } });
  });

  test("stays as it is when its input was not measured", () => {
    const before = { op_name: "x", output_slot: 0, data: undefined, same: undefined };
    const op = ofGraphOp({ ...identity("result"), inputs: [before] }, G, undefined);
    expect([op.same, op.outputs[0]?.bad]).toEqual([undefined, undefined]);
  });
});

test("the slots of an op are in order around its middle, within its card", () => {
  expect(portOffset(0, 1, 80)).toBe(0);
  expect([0, 1, 2].map((slot) => portOffset(slot, 3, 80))).toEqual([-14, 0, 14]);
  for (const n of [2, 9, 500])
    for (const slot of [0, n - 1]) expect(Math.abs(portOffset(slot, n, 80))).toBeLessThanOrEqual(32);
});

test("an eager op has one output for each slot, measured or not", () => {
  const data = {
    op_type: "Unique",
    device_names: [],
    output_tensor_ids: [4, 5],
    outputs: [undefined],
    inputs: [],
  } as unknown as ExecutionData;
  expect(ofExecution(data).outputs).toEqual([{ counts: {} }, { counts: {} }]);
});

describe("the cards of a column", () => {
  test("are centred while they fit", () => {
    const [top] = cardTops(1, 150, 24, CARD);
    expect((top ?? 0) + CARD.height / 2).toBe(150);
  });

  test("begin under the titles when they do not, and never overlap", () => {
    const tops = cardTops(40, 150, 24, CARD);
    expect(tops[0]).toBe(24);
    for (const [i, top] of tops.entries())
      if (i > 0) expect(top - (tops[i - 1] ?? 0)).toBeGreaterThanOrEqual(CARD.height);
  });
});

describe("inputs of an execution", () => {
  const nothing = {
    tensor_id: 7,
    execution_index: undefined,
    output_slot: undefined,
    op_type: undefined,
    health: undefined,
  };
  const made = { ...nothing, execution_index: executionIndex(3), output_slot: 0, op_type: "Log" };

  test("those of which nothing is on record are one row", () => {
    const { known, unknown } = knownInputs([nothing, made, nothing, nothing]);
    expect(known).toEqual([[1, made]]);
    expect(slotRanges(unknown)).toBe(":0, :2 – :3");
  });

  test("no slots are no text", () => expect(slotRanges([])).toBe(""));
});
