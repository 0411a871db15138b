import { expect, test } from "vitest";
import { decodeColumns } from "../../src/api/columns";
import { historyLine } from "../../src/model/values/history";
import { typedNumber } from "../../src/model/values/view";
import { encodeColumns } from "../encode";

/** The curve of values that are good unless they are not finite; undefined for one that was not kept. */
function curve(values: readonly (number | undefined)[]) {
  const rows = values.map((value, index) => ({
    index,
    health: value === undefined || Number.isFinite(value) ? 1 : 2,
    is_kept: value === undefined ? 0 : 1,
    value: value ?? Number.NaN,
  }));
  const types = {
    index: { type: "f64" },
    health: { type: "u8" },
    is_kept: { type: "u8" },
    value: { type: "f64" },
  } as const;
  const page = decodeColumns(encodeColumns(types, rows, { generation: 1, begin: 0, total: rows.length }));
  return historyLine(page, "[0]");
}

test("the line of an element has a gap where it is not kept, and a mark where it is bad", () => {
  const { x, y, bad } = curve([1, 5, Number.NaN, 3, undefined, 2]);
  expect(x).toEqual([1, 2, 3, 4, 5, 6]);
  expect(y).toEqual([1, 5, Number.NaN, 3, Number.NaN, 2]);
  expect(bad).toEqual([false, false, true, false, false, false]);
});

test.each([
  ["", undefined],
  [" 1e-3 ", 0.001],
  ["-inf", -Infinity],
  ["−∞", -Infinity],
  ["+Infinity", Infinity],
  ["x", Number.NaN],
])("the typed text %j is %d", (text, expected) => {
  expect(typedNumber(text)).toEqual(expected);
});
