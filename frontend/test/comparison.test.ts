/** `src/model/comparison.ts` and `src/model/two_histories.ts`: what the page says about two runs. */
import { describe, expect, test } from "vitest";
import { health } from "../src/api/answers";
import type { Comparison, Histories, Side, TensorDifference } from "../src/api/comparison";
import { executionIndex, graphExecutionIndex, graphId } from "../src/base/ids";
import {
  causeWords,
  differenceInFocus,
  differenceWords,
  inheritedWords,
  inputWords,
  numberPair,
  numberRows,
  outcomeOf,
  placeRows,
  placeWords,
  shareWords,
  sideName,
  toleranceTyped,
  toleranceWords,
} from "../src/model/comparison";
import {
  apartWords,
  availableNumbers,
  differenceLines,
  historyOf,
  rowInFocus,
  rowTarget,
  twoLines,
} from "../src/model/two_histories";

function side(fields: Partial<Side> = {}): Side {
  return {
    op_type: "Relu",
    op_name: "step/Relu",
    output_slot: 0,
    graph_id: graphId("g1"),
    function: "__inference_step_7",
    layer: "dense",
    variable: undefined,
    source: { path: "/home/user/train.py", line: 6, function: "step", text: "h = tf.nn.relu(h)" },
    execution_index: undefined,
    graph_execution_index: graphExecutionIndex(3),
    summary: undefined,
    ...fields,
  };
}

const EAGER = side({
  op_type: "Mul",
  op_name: undefined,
  graph_id: undefined,
  graph_execution_index: undefined,
  execution_index: executionIndex(4),
});

function tensor(fields: Partial<TensorDifference> = {}): TensorDifference {
  return {
    first: side(),
    second: side({ op_type: "Elu", op_name: "step/Elu" }),
    occurrence: 0,
    difference: 0.25,
    largest: 0.5,
    tolerance: 1e-6,
    compared: 12,
    inherited: 0,
    what: "min 0 and -0.25",
    ...fields,
  };
}

function comparison(fields: Partial<Comparison> = {}): Comparison {
  return {
    first_difference: undefined,
    headline: "",
    tensors: [],
    num_tensors: 0,
    changes: [],
    num_changes: 0,
    num_compared: 84,
    num_compared_tensors: 7,
    notes: [],
    ...fields,
  };
}

describe("the outcome of a comparison", () => {
  const first = {
    ...tensor(),
    headline: "",
    explanation: "",
    cause: "numerics",
    inputs: [],
    values: undefined,
  };
  test.each([
    [comparison(), "agrees"],
    [comparison({ num_tensors: 3 }), "grown"],
    [comparison({ num_changes: 1, num_tensors: 3 }), "changed"],
    [comparison({ num_compared_tensors: 0, num_changes: 1 }), "nothing"],
    [comparison({ first_difference: first, num_changes: 1 }), "differs"],
  ])("is named: %#", (answer, outcome) => {
    expect(outcomeOf(answer)).toBe(outcome);
  });

  test("a cause that this page does not know is shown by its name", () => {
    expect([causeWords("data"), causeWords("cosmic_ray")]).toEqual(["other data came in", "cosmic_ray"]);
  });
});

describe("both sides of a tensor", () => {
  test("numbers have as many digits as tell them apart", () => {
    expect(numberPair(1.2345678, 1.2345699)).toEqual(["1.234568", "1.23457"]);
    expect(numberPair(0.5, 0.5)).toEqual(["0.5", "0.5"]);
    expect(numberPair(-1e-9, 1234567.5)).toEqual(["−1e-9", "1.235e+6"]);
    expect(numberPair(12000, undefined)).toEqual(["12,000", undefined]);
    const near = 1 + Number.EPSILON;
    expect(numberPair(1.1, 1.1 + Number.EPSILON)[0]).not.toBe(numberPair(1.1, 1.1 + Number.EPSILON)[1]);
    expect(numberPair(1, near)[0]).not.toBe(numberPair(1, near)[1]);
  });

  test("a row is there if a run has it on record, and is marked where the runs differ", () => {
    const summary = {
      tensor_debug_mode: 4,
      min: 0,
      max: 2,
      mean: 1,
      size: 4,
      zero: 1,
      positive: 3,
      nan: 0,
      shape: [2, null],
    };
    const wire = health({ ...summary, neg_inf: 0, pos_inf: 0 }, "summary");
    const rows = numberRows(wire, { ...wire, mean: 1.5, nan: 2 });
    expect(rows.map(({ label, first, second, isApart }) => [label, first, second, isApart])).toEqual([
      ["shape", "[2, ?]", "[2, ?]", false],
      ["values", "4", "4", false],
      ["min", "0", "0", false],
      ["max", "2", "2", false],
      ["mean", "1", "1.5", true],
      ["zero", "1", "1", false],
      ["positive", "3", "3", false],
      ["NaN", "0", "2", true],
    ]);
    expect(numberRows(undefined, undefined)).toEqual([]);
  });

  test("the place names op, layer, function and position", () => {
    expect(placeRows(side(), side({ op_name: "Relu_1", layer: undefined }))).toEqual([
      { label: "op", first: "Relu", second: "Relu", isApart: false },
      { label: "name", first: "step/Relu:0", second: "Relu_1:0", isApart: true },
      { label: "layer", first: "dense", second: "–", isApart: true },
      { label: "function", first: "step", second: "step", isApart: false },
      { label: "position", first: "graph execution #3", second: "graph execution #3", isApart: false },
    ]);
    expect(placeWords(side())).toBe("layer dense · in step · graph execution #3");
    expect(placeWords({ ...EAGER, layer: undefined, function: undefined })).toBe(
      "called from Python · execution #4",
    );
    expect([sideName(EAGER), sideName({ ...EAGER, output_slot: 1 })]).toEqual(["Mul", "Mul:1"]);
  });
});

describe("the words of a difference", () => {
  test("name its size as a multiple of the tolerance, where it has a size", () => {
    expect(differenceWords(tensor())).toBe("0.25 of its size, 250,000 times the tolerance");
    expect(differenceWords(tensor({ tolerance: 0 }))).toBe("0.25 of its size");
    expect(differenceWords(tensor({ difference: undefined }))).toBe("shape, NaN or infinities differ");
  });

  test("say where the tolerance comes from", () => {
    const of = (dtype: string) => side({ summary: health({ tensor_debug_mode: 4, dtype }, "summary") });
    const pair = (a: string, b: string, tolerance = 1e-6) =>
      tensor({ first: of(a), second: of(b), tolerance });
    expect(toleranceWords(pair("float32", "float32"), false)).toContain("1e-6: rounding of float32, times");
    expect(toleranceWords(pair("float32", "float16"), false)).toContain("the coarser of float32 and float16");
    expect(toleranceWords(pair("int32", "int32", 0), false)).toBe("0: int32 has no rounding");
    expect(toleranceWords(tensor({ tolerance: 0.01 }), true)).toBe("0.01, as you chose");
    expect(["", " ", "1e-5", "0", "-1", "x", "inf"].map(toleranceTyped)).toEqual([
      ...[undefined, undefined, 1e-5, 0],
      ...["wrong", "wrong", "wrong"],
    ]);
  });

  test("a share is 0 % or 100 % only if it is exactly that", () => {
    expect([0, 0.001, 0.25, 0.999, 1].map(shareWords)).toEqual(["0 %", "< 1 %", "25 %", "> 99 %", "100 %"]);
    expect(inheritedWords(undefined)).toContain("no input");
  });

  test.each([
    [undefined, undefined, "not on record in both runs"],
    [undefined, false, "shape, NaN or infinities differ"],
    [0, true, "equal"],
    [1e-7, true, "agrees (1e-7)"],
    [0.5, false, "differs (0.5)"],
  ])("an input with difference %s says whether it agrees", (difference, is_within, words) => {
    expect(inputWords({ first: side(), second: side(), difference, is_within })).toBe(words);
  });

  test("what is in focus is found in the list by its op, at whichever occurrence", () => {
    const [one, two] = [tensor(), tensor({ first: EAGER })];
    const at = {
      kind: "op",
      graph: graphId("g1"),
      opName: "step/Relu",
      graphExecution: graphExecutionIndex(99),
    } as const;
    expect(differenceInFocus([one, two], at)).toBe(one);
    expect(differenceInFocus([one, two], { kind: "execution", index: executionIndex(4) })).toBe(two);
    expect(differenceInFocus([one, two], { kind: "nowhere" })).toBeUndefined();
  });
});

const HOLE = Number.NaN;

function histories(columns: Record<string, readonly number[]>, fields: Partial<Histories> = {}): Histories {
  const rows = Object.values(columns)[0]?.length ?? 0;
  const all = { occurrence: Array.from({ length: rows }, (_, i) => i), ...columns };
  return {
    first: side(),
    second: side(),
    total: rows,
    occurrence: 1,
    is_unordered: false,
    columns: new Map(Object.entries(all).map(([name, values]) => [name, Float64Array.from(values)])),
    ...fields,
  };
}

describe("the histories of both runs", () => {
  const both = histories({
    first_index: [3, 8, 13],
    first_mean: [0, 1, 2],
    second_mean: [0, 2, 4],
    first_variance: [4, 9, HOLE],
    difference: [0, 0.5, Number.POSITIVE_INFINITY],
    tolerance: [1e-6, 1e-6, 1e-6],
    first_nan: [0, 0, 0],
  });

  test("are a line for each run, with marks where they differ by more than the tolerance", () => {
    const [first, second] = twoLines(both, "mean", ["a", "b"]);
    expect(first).toMatchObject({ label: "a", x: [1, 2, 3], y: [0, 1, 2], bad: [false, true, true] });
    expect(second).toMatchObject({ label: "b", x: [1, 2, 3], y: [0, 2, 4] });
    expect(second?.look).not.toBe(first?.look);
    expect(apartWords(both)).toBe("2 of 3 occurrences differ by more than the tolerance");
    const thinned = { ...both, total: 900 };
    expect(apartWords(thinned)).toBe(
      "2 of 3 occurrences differ by more than the tolerance (3 of 900 are shown)",
    );
    const equal = histories({ first_mean: [1, 2], difference: [HOLE, 0], tolerance: [0, 0] });
    expect(apartWords(equal)).toBe("none of 2 occurrences differs by more than the tolerance");
    expect(apartWords(histories({ difference: [1], tolerance: [0] }))).toBe("computed once");
  });

  test("offer the numbers that either run has, and NaN only if there is any", () => {
    expect(availableNumbers(both)).toEqual(["mean", "std"]);
    expect(availableNumbers(histories({ second_nan: [0, 1], first_zero: [0, 0] }))).toEqual(["zero", "nan"]);
    expect(historyOf(both, "first", "std")).toEqual([2, 3, undefined]);
    expect(historyOf(histories({ first_neg_inf: [1, 2], first_pos_inf: [3, 0] }), "first", "inf")).toEqual([
      4, 2,
    ]);
  });

  test("have no difference where it is 0 or infinite", () => {
    const [difference, tolerance] = differenceLines(both);
    expect(difference?.y).toEqual([undefined, 0.5, Number.POSITIVE_INFINITY]);
    expect(tolerance?.y).toEqual([1e-6, 1e-6, 1e-6]);
    expect(differenceLines(histories({ difference: [0, 0], tolerance: [1, 1] }))).toEqual([]);
  });

  test("lead from a row to its value, in a graph or outside", () => {
    expect(rowInFocus(both)).toBe(1);
    expect(rowInFocus({ ...both, occurrence: undefined })).toBeUndefined();
    expect(rowInFocus({ ...both, occurrence: 7 })).toBeUndefined();
    expect(rowTarget(both, 2)).toEqual({ kind: "op", graph: "g1", opName: "step/Relu", graphExecution: 13 });
    expect(rowTarget({ ...both, first: EAGER }, 0)).toEqual({ kind: "execution", index: 3 });
    expect(rowTarget(both, 9)).toEqual({ kind: "nowhere" });
  });
});
