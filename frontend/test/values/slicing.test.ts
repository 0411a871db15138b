import { describe, expect, test } from "vitest";
import {
  type Axis,
  firstSlice,
  lineOf,
  type Plane,
  parseSlicing,
  partOf,
  planeOf,
  positionOf,
  sliceAt,
  withIndex,
  withShown,
  writeSlicing,
} from "../../src/model/values/slicing";
import { random } from "../random";

/** The slow twin: the elements that Python's notation selects of `range(size)`. */
function selected(axis: Axis, size: number): readonly number[] {
  if (axis.kind === "index") return [axis.at < 0 ? axis.at + size : axis.at];
  const { step = 1 } = axis;
  const all = Array.from({ length: size }, (_, i) => i);
  const from = axis.begin === undefined ? (step > 0 ? 0 : size - 1) : wrap(axis.begin, size);
  const to = axis.end === undefined ? (step > 0 ? size : -1) : wrap(axis.end, size);
  const inside = all.filter((i) => (step > 0 ? i >= from && i < to : i <= from && i > to));
  const ordered = step > 0 ? inside : inside.reverse();
  // The first one is `from`, if there is such an element, or the nearest that is inside.
  return ordered.filter((_, i) => i % Math.abs(step) === 0);
}

function wrap(at: number, size: number): number {
  const positive = at < 0 ? at + size : at;
  return Math.max(-1, Math.min(size, positive));
}

/** Axes of all kinds, within and beyond the size. */
function someAxes(n: number): readonly { axis: Axis & { kind: "range" }; size: number }[] {
  const pick = random(5);
  return Array.from({ length: n }, () => {
    const size = 1 + pick(12);
    const bound = () => (pick(3) === 0 ? undefined : pick(2 * size + 6) - size - 3);
    const step = [undefined, 1, 2, 3, 7, -1, -2, -5][pick(8)];
    return { size, axis: { kind: "range", begin: bound(), end: bound(), step } };
  });
}

function elementsOf({ first, step, length }: { first: number; step: number; length: number }) {
  return Array.from({ length }, (_, i) => first + i * step);
}

describe("a slicing", () => {
  test.each([
    ["[:, 3, ::2]", 3, "[:, 3, ::2]"],
    ["..., -1", 4, "[:, :, :, -1]"],
    ["1", 2, "[1, :]"],
    ["[ 2 : 5 , ... ]", 3, "[2:5, :, :]"],
    ["", 2, "[:, :]"],
    ["...", 0, "..."],
    ["[::-1]", 1, "[::-1]"],
  ])("%j of a tensor of rank %d selects %s", (text, rank, expected) => {
    expect(writeSlicing(parseSlicing(text, rank) ?? [])).toBe(expected);
  });

  test.each([
    ["[0, 0]", 1],
    ["[..., ...]", 2],
    ["[::0]", 1],
    ["[a]", 1],
    ["[1.5]", 1],
    ["[None]", 1],
    ["[0]", 0],
  ])("%j of a tensor of rank %d is left to the server", (text, rank) => {
    expect(parseSlicing(text, rank)).toBeUndefined();
  });

  test("selects what Python selects", () => {
    for (const { axis, size } of someAxes(500))
      expect(elementsOf(lineOf(axis, 0, size)), JSON.stringify({ axis, size })).toEqual(selected(axis, size));
  });

  test("of a part selects that part, whatever the step", () => {
    const pick = random(9);
    for (const { axis, size } of someAxes(500)) {
      const plane = planeOf([axis], [size], false) as Plane;
      const whole = elementsOf(lineOf(axis, 0, size));
      if (whole.length === 0) continue;
      const begin = pick(whole.length);
      const end = begin + 1 + pick(whole.length - begin);
      const text = partOf(plane, { begin: 0, end: 1 }, { begin, end });
      const [part] = parseSlicing(text, 1) as [Axis];
      expect(selected(part, size), text).toEqual(whole.slice(begin, end));
    }
  });
});

describe("a plane", () => {
  const shape = [2, 3, 4, 5];

  test("begins with the last two dimensions of the first image", () => {
    expect(writeSlicing(firstSlice(4))).toBe("[0, 0, :, :]");
    expect(writeSlicing(firstSlice(1))).toBe("[:]");
    expect(writeSlicing(firstSlice(0))).toBe("...");
  });

  test("says the position of a cell in the tensor, also when it is swapped", () => {
    const axes = parseSlicing("[-1, 1:, 2, ::2]", 4) as readonly Axis[];
    expect(positionOf(planeOf(axes, shape, false) as Plane, 1, 2)).toEqual([1, 2, 2, 4]);
    expect(positionOf(planeOf(axes, shape, true) as Plane, 2, 1)).toEqual([1, 2, 2, 4]);
  });

  test("has at most two dimensions", () => {
    expect(planeOf(firstSlice(2).concat(firstSlice(1)), [2, 3, 4], false)).toBeUndefined();
  });

  test("keeps its other indices when one moves or when other dimensions are shown", () => {
    const axes = parseSlicing("[1, 2, :, 0:3]", 4) as readonly Axis[];
    expect(writeSlicing(withIndex(axes, 0, 0))).toBe("[0, 2, :, 0:3]");
    expect(writeSlicing(withShown(axes, [0, 3]))).toBe("[:, 2, 0, 0:3]");
  });
});

test("the slice at an element has it in the cell that is given", () => {
  const shape = [3, 4, 5, 6];
  for (const rank of [1, 2, 3, 4]) {
    const own = shape.slice(0, rank);
    for (const index of [own.map(() => 0), own.map((n) => n - 1), own.map((n) => n >> 1)]) {
      const { axes, cell } = sliceAt(index);
      const plane = planeOf(axes, own, false) as Plane;
      expect(positionOf(plane, cell.row, cell.column)).toEqual(index);
    }
  }
});
