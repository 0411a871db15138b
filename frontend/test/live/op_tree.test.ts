import { describe, expect, test } from "vitest";
import { graphId } from "../../src/base/ids";
import { filteredOps, type ListedOp, listedOps } from "../../src/model/live/op_list";
import { boxChange, boxState, fits, marksOf, whereOf, whereOfGroup } from "../../src/model/live/op_marks";
import {
  childrenOf,
  firstOpen,
  type Grouping,
  type OpTree,
  opTree,
  rootsOf,
  type TreeNode,
  treeRows,
} from "../../src/model/live/op_tree";
import { place } from "../../src/model/live/places";
import { random } from "../random";
import { breakpoint } from "./fixture";

const op = (name: string, over: Partial<ListedOp> = {}): ListedOp => ({
  name,
  type: "MatMul",
  function: "train",
  fullFunction: "__inference_train_12",
  layer: "",
  device: "/device:CPU:0",
  slots: 1,
  graph: graphId("g1"),
  ...over,
});

const OPS = [
  op("loss/Log", { type: "Log", layer: "head" }),
  op("loss/mul", { type: "Mul", layer: "head/out" }),
  op("loss", { layer: "head/out" }),
  op("x", { type: "Placeholder", device: "" }),
  op("y", { function: "", fullFunction: "" }),
];

/** The tree as a drawing, with all groups open. */
function drawn(tree: OpTree, nodes = rootsOf(tree), indent = ""): readonly string[] {
  return nodes.flatMap((node) => [
    `${indent}${node.title}${node.op === undefined ? ` (${node.end - node.begin})` : ""}`,
    ...drawn(tree, childrenOf(tree, node), `${indent}  `),
  ]);
}

const node = (tree: OpTree, ...path: readonly string[]): TreeNode => {
  let found: TreeNode | undefined;
  for (const title of path) {
    const nodes = found === undefined ? rootsOf(tree) : childrenOf(tree, found);
    found = nodes.findLast((one) => one.title === title);
  }
  if (found === undefined) throw new Error(`no ${path.join(" ")}`);
  return found;
};

describe("the tree of ops", () => {
  test("has functions and scopes, and an op beside the scope of its name", () => {
    expect(drawn(opTree(OPS, "scope"))).toEqual([
      "outside of functions (1)",
      "  y",
      "train (4)",
      "  loss",
      "  loss (2)",
      "    Log",
      "    mul",
      "  x",
    ]);
  });

  test("by layer has the ops of a layer below its function", () => {
    expect(drawn(opTree(OPS, "layer"))).toEqual([
      "head (3)",
      "  out (2)",
      "    train (2)",
      "      loss",
      "      loss/mul",
      "  train (1)",
      "    loss/Log",
      "no layer (2)",
      "  outside of functions (1)",
      "    y",
      "  train (1)",
      "    x",
    ]);
  });

  test("by device begins with the devices", () => {
    const roots = rootsOf(opTree(OPS, "device")).map(({ title, begin, end }) => [title, end - begin]);
    expect(roots).toEqual([
      ["/device:CPU:0", 4],
      ["device not recorded", 1],
    ]);
  });

  test("lists only what is open", () => {
    const tree = opTree(OPS, "scope");
    expect(treeRows(tree, new Set()).map(({ node: { title } }) => title)).toEqual([
      "outside of functions",
      "train",
    ]);
    const open = new Set([node(tree, "train").key]);
    expect(treeRows(tree, open).map(({ depth }) => depth)).toEqual([0, 0, 1, 1, 1]);
  });

  test("is open at first when it is small, else along its only branch", () => {
    const tree = opTree(OPS, "scope");
    expect(treeRows(tree, firstOpen(tree))).toHaveLength(8);
    expect(treeRows(tree, firstOpen(tree, 2))).toHaveLength(2);
    const only = opTree(OPS.slice(0, 2), "scope");
    expect(treeRows(only, firstOpen(only, 1)).map(({ node: { title } }) => title)).toEqual([
      "train",
      "loss",
      "Log",
      "mul",
    ]);
  });

  test("has every op once, in each grouping", () => {
    const next = random(7);
    const word = () => "abc"[next(3)] ?? "a";
    const ops = Array.from({ length: 300 }, (_, i) =>
      op(`${word()}/${word()}/${i}`, { function: word(), layer: next(2) === 0 ? "" : `${word()}/${word()}` }),
    );
    for (const grouping of ["scope", "layer", "device"] as const) {
      const tree = opTree(ops, grouping);
      const leaves = (nodes: readonly TreeNode[]): readonly string[] =>
        nodes.flatMap((one) => (one.op === undefined ? leaves(childrenOf(tree, one)) : [one.op.name]));
      expect([...leaves(rootsOf(tree))].sort()).toEqual(ops.map(({ name }) => name).sort());
    }
  });

  test("of 60 000 ops is made at once", () => {
    const ops = Array.from({ length: 60_000 }, (_, i) => op(`layer_${i % 97}/block_${i % 7}/op_${i}`));
    const begin = performance.now();
    const tree = opTree(ops, "scope");
    const rows = treeRows(tree, firstOpen(tree));
    marksOf(tree, [breakpoint({ name_regex: "^layer_3/" })]);
    expect(rows).toHaveLength(98);
    expect(performance.now() - begin).toBeLessThan(5000);
  });
});

describe("the boxes of the tree", () => {
  const tree = opTree(OPS, "scope");
  const scope = node(tree, "train", "loss");

  test("have three states", () => {
    const states = (...all: ReturnType<typeof breakpoint>[]) => {
      const marks = marksOf(tree, all);
      return [node(tree, "train"), scope, node(tree, "train", "loss", "Log")].map((one) =>
        boxState(marks, one),
      );
    };
    expect(states()).toEqual(["none", "none", "none"]);
    expect(states(breakpoint({ op_name: "loss/Log" }))).toEqual(["some", "some", "all"]);
    expect(states(breakpoint({ op_name: "loss/Log" }, { enabled: false }))).toEqual(["none", "none", "none"]);
    expect(states(breakpoint({ name_regex: "^loss/" }))).toEqual(["some", "all", "all"]);
    expect(states(breakpoint({ function_regex: "train" }))).toEqual(["all", "all", "all"]);
    expect(states(breakpoint({ calls: true, function_regex: "train" }))).toEqual(["none", "none", "none"]);
  });

  test.each([
    [{ op_type: "Log" }, 1],
    [{ layer_regex: "^head" }, 3],
    [{ path: "/a.py", line: 3 }, 0],
    [{ name_regex: "(?i)loss" }, 0],
    [{}, 5],
  ])("know which ops fit %j", (where, n) => {
    expect(OPS.filter(fits(place(where)))).toHaveLength(n);
  });

  test("set one breakpoint for a group that a rule names", () => {
    expect(boxChange(tree, scope, [], false)).toEqual({
      kind: "set",
      wheres: [place({ name_regex: "^loss/", function_regex: "train" })],
    });
    expect(whereOfGroup(tree, node(tree, "train"))).toEqual(place({ function_regex: "train" }));
    const byLayer = opTree(OPS, "layer");
    expect(whereOfGroup(byLayer, node(byLayer, "head"))).toEqual(place({ layer_regex: "^head(/|$)" }));
    const inLayer = { layer_regex: "^head/out$", function_regex: "train" };
    expect(whereOfGroup(byLayer, node(byLayer, "head", "out", "train"))).toEqual(place(inLayer));
  });

  test("name an op of a session without its graph, which has no name of its own", () => {
    const session = { function: "tf.Graph", fullFunction: "tf.Graph" };
    const ops = [op("user_tower/conv", session), op("user_tower/relu", session), op("loss", session)];
    const of = opTree(ops, "scope");
    expect(whereOf(ops[0] as ListedOp)).toEqual(place({ op_name: "user_tower/conv" }));
    const inGraph = { function_regex: "tf\\.Graph" };
    expect(whereOfGroup(of, node(of, "tf.Graph", "user_tower"))).toEqual(
      place({ name_regex: "^user_tower/", ...inGraph }),
    );
    expect(whereOfGroup(of, node(of, "tf.Graph"))).toEqual(place(inGraph));
  });

  test("stop at just the ops of the group by their rules", () => {
    const everyGroup = (of: OpTree, nodes = rootsOf(of)): readonly TreeNode[] =>
      nodes.flatMap((one) => [one, ...everyGroup(of, childrenOf(of, one))]);
    for (const grouping of ["scope", "layer"] satisfies readonly Grouping[]) {
      const of = opTree(OPS, grouping);
      for (const one of everyGroup(of)) {
        const rule = whereOfGroup(of, one);
        if (rule === undefined) continue;
        expect(of.ops.filter(fits(rule))).toEqual(of.ops.slice(one.begin, one.end));
      }
    }
  });

  test("set a breakpoint for each op of a group without a rule, or of a filtered tree", () => {
    const byDevice = opTree(OPS, "device");
    const change = boxChange(byDevice, node(byDevice, "device not recorded"), [], false);
    expect(change).toEqual({ kind: "set", wheres: [whereOf(OPS[3] as ListedOp)] });
    const filtered = boxChange(tree, scope, [breakpoint({ op_name: "loss/Log" })], true);
    expect(filtered).toEqual({ kind: "set", wheres: [whereOf(OPS[1] as ListedOp)] });
    const many = opTree(
      Array.from({ length: 51 }, (_, i) => op(`op_${i}`)),
      "device",
    );
    expect(boxChange(many, node(many, "/device:CPU:0"), [], false)).toMatchObject({ kind: "refused" });
  });

  test("remove the breakpoints of the group, and refuse when a broader one stops there", () => {
    const own = breakpoint(place({ name_regex: "^loss/", function_regex: "train" }), { number: 4 });
    expect(boxChange(tree, scope, [own], false)).toEqual({ kind: "remove", numbers: [4] });
    const each = [breakpoint({ op_name: "loss/Log" }), breakpoint({ op_name: "loss/mul" }, { number: 2 })];
    expect(boxChange(tree, scope, each, false)).toEqual({ kind: "remove", numbers: [1, 2] });
    const broad = boxChange(tree, scope, [breakpoint({ function_regex: "train" })], false);
    expect(broad).toMatchObject({ kind: "refused", sentence: expect.stringContaining("Breakpoint 1") });
  });
});

describe("the list of ops", () => {
  const page = (names: readonly string[], functions: readonly string[], types: readonly string[]) => ({
    generation: 1,
    begin: 0,
    end: names.length,
    total: names.length,
    columns: new Map(
      ["op_name", "function", "op_type", "graph_id"].map((name) => [name, Int32Array.from(names.keys())]),
    ),
    dictionaries: new Map([
      ["op_name", names],
      ["function", functions],
      ["op_type", types],
      ["graph_id", names.map((_, i) => `g${i}`)],
    ]),
  });

  test("has an op of a function that was traced again once, and no arguments", () => {
    const traced = ["__inference_loss_1", "__inference_loss_2", "__inference_loss_2"];
    const ops = listedOps([page(["Log", "Log", "x"], traced, ["Log", "Log", "_Arg"])]);
    expect(ops.map(({ name, function: called, graph }) => [name, called, graph])).toEqual([
      ["Log", "loss", "g1"],
    ]);
  });

  test("is filtered by name or type", () => {
    expect(filteredOps(OPS, { by: "type", text: "^log$" }).map(({ name }) => name)).toEqual(["loss/Log"]);
    expect(filteredOps(OPS, { by: "name", text: "^loss" })).toHaveLength(3);
    expect(filteredOps(OPS, { by: "name", text: "[" })).toEqual([]);
  });
});
