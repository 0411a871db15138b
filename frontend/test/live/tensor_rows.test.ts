import { describe, expect, test } from "vitest";
import { liveTensorNumber } from "../../src/base/ids";
import { summaryWords } from "../../src/model/health";
import { goneInfo } from "../../src/model/live/live_value";
import { keyOfNumber, MOST_SEEN, NOTHING_SEEN, withSeen } from "../../src/model/live/seen_tensors";
import {
  expressionOf,
  extended,
  filteredRows,
  keyOf,
  NO_ROWS,
  numberOf,
  positionOf,
  renewed,
  summaryOf,
  withCurrent,
} from "../../src/model/live/tensor_rows";
import { tensor } from "./fixture";

const numbered = (number: number, over = {}) => tensor({ number: liveTensorNumber(number), ...over });
const NUMBERS = Object.entries({
  ...{ size: 10, ninf: 1, pinf: 0, nan: 2, neg: 3, zero: 0, pos: 4 },
  ...{ min: -2, max: 3, mean: 0.5, var: 4 },
}).map(([name, value]) => ({ name, value }));

describe("the tensors of the current call", () => {
  test("grow by what is newer", () => {
    const first = extended(NO_ROWS, { call: 0, tensors: [numbered(1), numbered(2)], total: 3 });
    const second = extended(first, { call: 0, tensors: [numbered(2), numbered(3)], total: 3 });
    expect(second.rows.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(extended(second, { call: 0, tensors: [], total: 3 }).rows).toBe(second.rows);
  });

  test("are replaced by those of the next call", () => {
    const first = extended(NO_ROWS, { call: 0, tensors: [numbered(1)], total: 1 });
    expect(extended(first, { call: 1, tensors: [], total: 0 })).toEqual({ call: 1, rows: [], total: 0 });
    const next = extended(first, { call: 1, tensors: [numbered(8)], total: 1 });
    expect(next.rows.map(({ number }) => number)).toEqual([8]);
  });

  test("have the one of the pause before the list has it", () => {
    const rows = extended(NO_ROWS, { call: 0, tensors: [numbered(1), numbered(2)], total: 2 });
    const shown = (call: number, number: number | undefined) =>
      withCurrent(rows, call, number === undefined ? undefined : numbered(number)).map((row) => row.number);
    expect([shown(0, 3), shown(0, 2), shown(0, undefined), shown(1, 9)]).toEqual([
      [1, 2, 3],
      [1, 2],
      [1, 2],
      [9],
    ]);
    expect(withCurrent(NO_ROWS, 0, numbered(4))).toHaveLength(1);
  });

  test("take newer facts about rows that are there", () => {
    const rows = extended(NO_ROWS, { call: 0, tensors: [numbered(1), numbered(2)], total: 2 });
    const dropped = renewed(rows, [numbered(1, { has_value: false })]);
    expect(dropped.rows.map(({ has_value }) => has_value)).toEqual([false, true]);
  });

  test("are found by their numbers", () => {
    const rows = [numbered(3), numbered(7), numbered(20)];
    expect([3, 7, 20, 5, 99, undefined].map((number) => positionOf(rows, number))).toEqual([
      0,
      1,
      2,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test.each([
    ["name", "^lo", ["Log:0", "loss/Mul:0"]],
    ["name", "mul", ["loss/Mul:0"]],
    ["type", "^log$", ["Log:0"]],
    ["name", "(", []],
    ["name", "  ", ["Log:0", "loss/Mul:0"]],
  ] as const)("are filtered by %s %j", (by, text, expected) => {
    const rows = [numbered(1), numbered(2, { op_name: "loss/Mul", op_type: "Mul" })];
    expect(filteredRows(rows, { by, text }).map(({ op_name }) => `${op_name}:0`)).toEqual(expected);
  });

  test("have a filter that is wrong only when it is no expression", () => {
    expect(expressionOf({ by: "name", text: "(" })).toBe("wrong");
    expect(expressionOf({ by: "name", text: "" })).toBeUndefined();
  });
});

describe("the numbers of a tensor", () => {
  test("are those of the page's own tables", () => {
    const summary = summaryOf(tensor({ numbers: NUMBERS, shape: [5, 2] }));
    expect(summary.bad).toBe(true);
    expect(summaryWords(summary)).toBe(
      "float32 [5, 2] · 10 values · 1 −∞, 3 −, 4 +, 2 NaN · min −2 · max 3 · mean 0.5 · variance 4",
    );
  });

  test("are not known when nothing was measured", () => {
    const summary = summaryOf(tensor({ numbers: [], shape: [], has_value: false, unknown_shape: true }));
    expect([summary.bad, summary.shape, summary.size]).toEqual([undefined, undefined, undefined]);
  });

  test.each([
    ["std", 2],
    ["range", 5],
    ["inf", 1],
    ["mean", 0.5],
    ["median", undefined],
  ])("have %s as %s", (name, expected) => {
    expect(numberOf(NUMBERS, name)).toBe(expected);
  });
});

describe("what was seen of a tensor", () => {
  test("has each time of it, under the name of its function over several tracings", () => {
    const one = withSeen(NOTHING_SEEN, 0, [numbered(1), numbered(2, { op_name: "x" })]);
    const two = withSeen(one, 4, [numbered(9)]);
    const key = keyOfNumber(two, 9) ?? "";
    expect(key).toBe(keyOf(numbered(1)));
    expect(two.byKey.get(key)?.map(({ call }) => call)).toEqual([0, 4]);
    expect(keyOfNumber(two, 5)).toBeUndefined();
  });

  test("takes newer facts about a time that it has, and keeps the last ones", () => {
    let all = withSeen(NOTHING_SEEN, 0, [numbered(1)]);
    all = withSeen(all, 0, [numbered(1, { was_changed: true })]);
    expect([...all.byKey.values()][0]?.map(({ tensor: seen }) => seen.was_changed)).toEqual([true]);
    for (let i = 2; i < MOST_SEEN + 10; i++) all = withSeen(all, i, [numbered(i)]);
    const times = [...all.byKey.values()][0] ?? [];
    expect([times.length, times[0]?.call, times.at(-1)?.call]).toEqual([MOST_SEEN, 10, MOST_SEEN + 9]);
  });

  test("says what is known when the program does not hold it any more", () => {
    const seen = { call: 3, tensor: numbered(5, { numbers: NUMBERS, shape: [5, 2] }) };
    const info = goneInfo({ seen, at: 1, of: 4 });
    expect([info.is_kept, info.occurrence, info.num_occurrences, info.size]).toEqual([false, 1, 4, 10]);
    expect(info.reason).toContain("computed in call 3");
    expect([info.health?.nan, info.health?.max]).toEqual([2, 3]);
    const never = goneInfo({
      seen: { call: 3, tensor: numbered(5, { no_value: "A resource." }) },
      at: 0,
      of: 1,
    });
    expect(never.reason).toBe("A resource.");
  });
});
