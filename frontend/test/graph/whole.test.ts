/** `model/graph/whole.ts`: the picture of a whole function. */
import { expect, test } from "vitest";
import type { GraphOverview, GraphPart } from "../../src/api/answers";
import { graphExecutionIndex, graphId } from "../../src/base/ids";
import { linkLines } from "../../src/model/graph/picture";
import { wholePicture } from "../../src/model/graph/whole";

function part(name: string, more: Partial<GraphPart> = {}): GraphPart {
  const first = { op_name: `${name}/op`, op_type: "Mul", first_bad: undefined, runs: [] };
  return { name, is_op: false, ops: 3, bad_ops: 0, tensors: 6, bad: 0, ...first, ...more };
}

const badAt = (index: number) => ({ bad: 2, bad_ops: 1, first_bad: graphExecutionIndex(index) });

const ANSWER: GraphOverview = {
  graph_id: graphId("g"),
  graph_name: "step",
  parts: [
    part("dense"),
    part("net/norm", badAt(9)),
    part("", badAt(12)),
    part("x", { is_op: true, tensors: 0 }),
  ],
  edges: [
    { source: 0, target: 1, tensors: 3, bad: 0 },
    { source: 1, target: 2, tensors: 1, bad: 1 },
  ],
  places: [1, 2, 0],
  parts_left_out: 0,
  ops_left_out: 0,
};

test("the part that was bad first is marked, and leads to its op at that value", () => {
  const [, norm, outside] = wholePicture({ answer: ANSWER, numOnWay: 2 }).nodes;
  expect(norm).toMatchObject({ isFirst: true, title: "norm", note: "3 ops, 1 bad", opens: "net/norm" });
  expect(norm?.mark).toMatchObject({ level: "bad", sign: "first bad" });
  expect(norm?.target).toEqual({ kind: "op", graph: "g", opName: "net/norm/op", graphExecution: 9 });
  expect(outside).toMatchObject({ isFirst: false, title: "(outside)" });
});

test("a part without a bad tensor is good, and one without any is not measured", () => {
  const signs = wholePicture({ answer: ANSWER, numOnWay: 0 }).nodes.map(({ mark }) => mark.sign);
  expect(signs).toEqual(["✓", "first bad", "bad", "–"]);
});

test("the way of the bad value and the op in focus are at their parts", () => {
  const { nodes, links } = wholePicture({ answer: ANSWER, numOnWay: 2 });
  expect(nodes.map(({ isOnWay, isFocus }) => [isOnWay, isFocus])).toEqual([
    ...[
      [false, true],
      [true, false],
      [true, false],
      [false, false],
    ],
  ]);
  expect(links.map(({ isOnWay }) => isOnWay)).toEqual([false, true]);
  expect(links.map(linkLines)).toEqual([["3 tensors"], ["1 tensor  bad"]]);
  expect(wholePicture({ answer: ANSWER, numOnWay: 3 }).nodes.some(({ isFocus }) => isFocus)).toBe(false);
});

test("parts that are left out are counted", () => {
  const answer = { ...ANSWER, parts_left_out: 2, ops_left_out: 1200 };
  expect(wholePicture({ answer, numOnWay: 0 }).leftOut).toBe("2 boxes with 1,200 ops left out");
  expect(wholePicture({ answer: ANSWER, numOnWay: 0 }).leftOut).toBeUndefined();
});
