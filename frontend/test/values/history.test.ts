import { expect, test } from "vitest";
import { decodeColumns } from "../../src/api/columns";
import { historyCurve } from "../../src/model/values/history";
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
  return historyCurve(page, 100, 50);
}

const parts = (path: string, letter: string) => path.split(letter).length - 1;

test("the curve of an element breaks where it is not finite or not kept", () => {
  const { line, range, notFinite, bad, good } = curve([1, 5, Number.NaN, 3, undefined, 2]);
  expect(range).toEqual({ low: 1, high: 5 });
  expect(parts(line, "M")).toBe(3);
  expect(parts(notFinite, "M")).toBe(1);
  expect([parts(bad, "M"), parts(good, "M")]).toEqual([1, 5]);
});

test("an element without a finite value has no curve", () => {
  expect(curve([Number.NaN, undefined])).toMatchObject({ line: "", range: undefined });
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
