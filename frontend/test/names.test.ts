import { describe, expect, test } from "vitest";
import { basename, bytes, compact, counted, duration } from "../src/base/text";
import { displayName, dtypeName, initial, isFunctionName, shapeText } from "../src/model/names";

describe("names of functions", () => {
  test.each([
    ["__inference_train_step_1234", "train_step", "t"],
    ["__forward_cross_entropy_496", "cross_entropy", "c"],
    ["__inference___backward_loss_57_103", "∇loss", "l"],
    ["__backward_cross_entropy_469", "∇cross_entropy", "c"],
    ["__inference___call___57", "__call__", "c"],
    ["__inference__wrapped_model_9", "_wrapped_model", "w"],
    ["__inference_12", "12", "1"],
    ["MatMul", "MatMul", "M"],
    ["_FusedMatMul", "_FusedMatMul", "F"],
    ["__inference_", "__inference_", "i"],
    ["∇", "∇", "∇"],
    ["", "", "?"],
  ])("%s reads as %s", (opType, name, letter) => {
    expect(displayName(opType)).toBe(name);
    expect(initial(opType)).toBe(letter);
  });

  test("begin with two underscores, ops do not", () => {
    expect(isFunctionName("__inference_f_1")).toBe(true);
    expect(isFunctionName("_Arg")).toBe(false);
  });
});

test("dtypes bear TensorFlow's names, the reference types those of their values", () => {
  expect([1, 14, 19, 101, 0, undefined, 77].map(dtypeName)).toEqual([
    "float32",
    "bfloat16",
    "float16",
    "float32",
    undefined,
    undefined,
    undefined,
  ]);
});

test("a dimension that is not known is a question mark", () => {
  expect(shapeText([])).toBe("[]");
  expect(shapeText([32, undefined, -1])).toBe("[32, ?, ?]");
});

test("numbers in cells are exact below ten thousand and never longer than four characters", () => {
  expect(
    [0, 9999, 10_000, 12_545, 99_949, 999_499, 999_500, 9_949_999, 9_950_000, 1.5e9].map(compact),
  ).toEqual(["0", "9999", "10k", "13k", "100k", "999k", "1.0M", "9.9M", "10M", "1.5G"]);
  for (let n = 1; n < 1e15; n = Math.ceil(n * 1.7)) expect(compact(n).length).toBeLessThanOrEqual(4);
});

test("counts, durations, sizes and paths read as a person writes them", () => {
  expect(counted(1, "value")).toBe("1 value");
  expect(counted(1200, "box", "boxes")).toBe("1,200 boxes");
  expect([0.82, 12.34, 245, 7800].map(duration)).toEqual(["820 ms", "12.3 s", "4 min 05 s", "2 h 10 min"]);
  expect([999, 1500, 2.5e6, 3e9].map(bytes)).toEqual(["999 B", "1.5 kB", "2.5 MB", "3.0 GB"]);
  expect(["/a/b.py", "C:\\x\\y.py", "z.py"].map(basename)).toEqual(["b.py", "y.py", "z.py"]);
});
