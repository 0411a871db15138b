import { describe, expect, test } from "vitest";
import { decodeColumns, numberAt, textAt } from "../src/api/columns";
import { executionRow, graphExecutionRow } from "../src/model/rows";
import { encodeColumns } from "./encode";

const SPECS = {
  op_type: { type: "i32", dictionary: true },
  health: { type: "u8" },
  call_health: { type: "u8" },
  size: { type: "f64" },
  num_inputs: { type: "i32" },
} as const;
const ROWS = [
  { op_type: "MatMul", health: 1, call_health: 0, size: 1000, num_inputs: 2 },
  { op_type: null, health: 0, call_health: 0, size: Number.NaN, num_inputs: -7 },
  { op_type: "Log", health: 1, call_health: 2, size: 2 ** 40, num_inputs: 1 },
];
const body = () => encodeColumns(SPECS, ROWS, { generation: 3, begin: 40, total: 90 });

describe("the columnar answer", () => {
  test("gives back what was written, whatever the sizes of the types", () => {
    const page = decodeColumns(body());
    expect([page.generation, page.begin, page.end, page.total]).toEqual([3, 40, 43, 90]);
    expect(ROWS.map((_, i) => textAt(page, "op_type", i))).toEqual(["MatMul", undefined, "Log"]);
    expect(ROWS.map((_, i) => numberAt(page, "size", i))).toEqual([1000, undefined, 2 ** 40]);
    expect(ROWS.map((_, i) => numberAt(page, "num_inputs", i))).toEqual([2, -7, 1]);
    expect(ROWS.map((_, i) => numberAt(page, "health", i))).toEqual([1, 0, 1]);
  });

  test("keeps a name that reads like markup or like a property of every object", () => {
    const names = ["<img src=x>", "__proto__", "constructor", "∇∞"];
    const specs = { op_type: { type: "i32", dictionary: true } } as const;
    const page = decodeColumns(
      encodeColumns(
        specs,
        names.map((op_type) => ({ op_type })),
        { generation: 1, begin: 0, total: 4 },
      ),
    );
    expect(names.map((_, i) => textAt(page, "op_type", i))).toEqual(names);
  });

  test("is refused when it is cut off anywhere", () => {
    const whole = body();
    for (let size = 0; size < whole.byteLength - 8; size += 5)
      expect(() => decodeColumns(whole.slice(0, size)), `${size} bytes`).toThrow("cut off");
  });

  test("is refused when its header is not as agreed", () => {
    const header = new TextEncoder().encode(
      '{"generation":1,"begin":0,"end":0,"total":"many","columns":[]} ',
    );
    const bytes = new Uint8Array(4 + header.length);
    new DataView(bytes.buffer).setUint32(0, header.length, true);
    bytes.set(header, 4);
    expect(() => decodeColumns(bytes.buffer)).toThrow("header.total should be a number");
  });

  test("becomes rows with positions in the whole list", () => {
    const page = decodeColumns(body());
    expect(executionRow(page, 2)).toMatchObject({
      index: 42,
      opType: "Log",
      health: "good",
      callHealth: "bad",
      graph: undefined,
    });
    expect(graphExecutionRow(page, 1)).toMatchObject({
      index: 41,
      opType: "",
      owner: undefined,
      summary: { bad: undefined, size: undefined },
    });
  });
});
