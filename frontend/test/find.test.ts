import { describe, expect, test } from "vitest";
import type { Found } from "../src/api/answers";
import { fileIndex, graphId } from "../src/base/ids";
import { escaped, exactly } from "../src/base/text";
import { groupsOf, LISTED, matchesOf } from "../src/model/find";

const G = graphId("g");
const NOTHING: Found = {
  ops: [],
  tensors: [],
  layers: [],
  variables: [],
  functions: [],
  files: [],
  lines: [],
};

const op = (op_name: string, graph_name = "__inference_step_12") => ({
  graph_id: G,
  graph_name,
  op_name,
  op_type: "Log",
});

/** Each group as a line: its title, then its matches. */
function drawn(found: Partial<Found>, text: string): readonly string[] {
  return groupsOf({ ...NOTHING, ...found }, text).map(
    ({ title, matches }) => `${title}: ${matches.map((match) => match.title).join(" | ")}`,
  );
}

describe("the results of a search", () => {
  test("are grouped by kinds, the kind with the closest name first", () => {
    const found = {
      ops: [op("model/norm_1/Log")],
      layers: [{ name: "model/norm", num_ops: 3, graph_id: G, op_name: "Log" }],
      functions: [{ graph_id: G, name: "normalize" }],
    };
    expect(drawn(found, "norm")).toEqual([
      "Layers: model/norm",
      "Functions: normalize",
      "Ops: model/norm_1/Log",
    ]);
    expect(drawn(found, "NORMALIZE")[0]).toBe("Functions: normalize");
    expect(drawn(found, "o")).toEqual([
      "Ops: model/norm_1/Log",
      "Layers: model/norm",
      "Functions: normalize",
    ]);
  });

  test("describe an op by its type and its graph, and lead to it", () => {
    const [match] = matchesOf(groupsOf({ ...NOTHING, ops: [op("loss/Log")] }, "log"));
    expect(match).toEqual({
      title: "loss/Log",
      note: "Log in step",
      jump: { kind: "op", graph: G, graphName: "__inference_step_12", opName: "loss/Log", slot: undefined },
    });
  });

  test("lead to the output in the text", () => {
    const tensors = [{ ...op("Split"), output_slot: 2 }];
    const [match] = matchesOf(groupsOf({ ...NOTHING, tensors }, "split:2"));
    expect(match).toMatchObject({ title: "Split:2", jump: { kind: "op", opName: "Split", slot: 2 } });
  });

  test("lead from a variable to its first op and to each of its gradients", () => {
    const gradients = [{ graph_id: G, op_name: "grad/MatMul", output_slot: 1 }];
    const variables = [{ name: "dense/kernel", graph_id: G, op_name: "read", gradients }];
    const matches = matchesOf(groupsOf({ ...NOTHING, variables }, "kernel"));
    expect(matches.map(({ title, note }) => [title, note])).toEqual([
      ["dense/kernel", "first at read"],
      ["∇ dense/kernel", "grad/MatMul:1"],
    ]);
    expect(matches[1]?.jump).toMatchObject({ opName: "grad/MatMul", slot: 1 });
  });

  test("lead to files and their lines", () => {
    const at = { index: fileIndex(4), host_name: "host", file_path: "/home/user/train.py" };
    const found = { files: [at], lines: [{ ...at, line: 12, text: "  x = 1" }] };
    const [line, file] = matchesOf(groupsOf({ ...NOTHING, ...found }, "train.py:12"));
    expect(line).toEqual({ title: "train.py:12", note: "x = 1", jump: { kind: "line", file: 4, line: 12 } });
    expect(file).toMatchObject({ title: "train.py", jump: { line: 1 } });
  });

  test("are cut when there are many, and say so", () => {
    const ops = Array.from({ length: LISTED + 1 }, (_, i) => op(`a${i}`));
    const [many] = groupsOf({ ...NOTHING, ops }, "a");
    const [few] = groupsOf({ ...NOTHING, ops: ops.slice(1) }, "a");
    expect([many?.matches.length, many?.more, few?.matches.length, few?.more]).toEqual([
      LISTED,
      true,
      LISTED,
      false,
    ]);
  });
});

describe("a name as a regular expression", () => {
  test("matches itself and nothing else", () => {
    const name = "a.b/c+d[0]{1}(x|y)^$?*\\";
    expect(new RegExp(exactly(name)).test(name)).toBe(true);
    expect(new RegExp(exactly(name)).test(`${name}x`)).toBe(false);
    expect(new RegExp(`^${escaped("a.b")}$`).test("axb")).toBe(false);
  });

  test("is never longer than the server allows", () => {
    const name = "[".repeat(5000);
    expect(exactly(name).length).toBeLessThanOrEqual(1000);
    expect(new RegExp(exactly(name)).test(name)).toBe(true);
  });
});
