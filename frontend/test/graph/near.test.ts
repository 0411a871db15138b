/** `model/graph/near.ts`, `way.ts`, `picture.ts`: the picture of the ops around one. */
import { describe, expect, test } from "vitest";
import { graphId } from "../../src/base/ids";
import { type Look, nearPicture, wayKeys, wayThrough } from "../../src/model/graph/near";
import { linkLines, linkWords, nodeWords, worst } from "../../src/model/graph/picture";
import { random } from "../random";
import { near, withNan } from "./fixture";

const EACH: Look = { by: "op", opened: new Set(), way: [] };
const SCOPES: Look = { ...EACH, by: "scope" };

describe("the ops around one", () => {
  test("are boxes with their type and their health, and the one in focus is marked", () => {
    const { nodes } = nearPicture(near("x > Log > mul", "Log", { Log: withNan(3) }), EACH);
    expect(nodes.map(({ title, note, mark, isFocus }) => [title, note, mark.sign, isFocus])).toEqual([
      ["Log", "Log", "NaN", true],
      ["x", "x", "✓", false],
      ["mul", "mul", "✓", false],
    ]);
  });

  test("have links with slots, dtype, shape and health", () => {
    const { links } = nearPicture(near("x > mul, y > mul", "mul", { y: withNan(1) }), EACH);
    expect(links.map(linkLines)).toEqual([
      [":0 → 0  ✓", "float32 [4]"],
      [":0 → 1  NaN", "float32 [4]"],
    ]);
    expect(linkWords(links[1] as never)).toBe("output 0 as input 1: float32 [4] 1 NaN");
  });

  test("say how many ops are left out, and where", () => {
    const answer = near("x > Log", "Log", { x: { inputs_left_out: 12 }, Log: { consumers_left_out: 1 } });
    const [log, x] = nearPicture(answer, EACH).nodes;
    expect(x).toMatchObject({ before: 12, after: 0 });
    expect(nodeWords(x as never)).toContain("12 more ops before it");
    expect(nodeWords(log as never)).toContain("1 more op after it");
    expect(nearPicture({ ...answer, truncated: true }, EACH).leftOut).toContain("2 nearest ops");
  });

  test("name the function that they are in, when it is another one, and those that they run", () => {
    const inner = { graph_id: graphId("h"), graph_name: "__inference_inner_7" };
    const call = { runs: [{ graph_id: graphId("h"), graph_name: "inner" }] };
    const { nodes } = nearPicture(near("call > y, y > a", "y", { call, a: inner }), EACH);
    expect(nodes.map(({ title, place }) => [title, place])).toEqual([
      ["y", undefined],
      ["call", undefined],
      ["a", "inner"],
    ]);
    expect(nodes[1]?.runs).toEqual([{ graph: "h", name: "inner" }]);
  });

  test("that wait for each other have a link without a tensor", () => {
    const answer = { ...near("x > Log > mul", "Log"), control_edges: [{ source: 1, target: 2 }] };
    const [link] = nearPicture(answer, EACH).links.filter(({ kind }) => kind === "control");
    expect(link && [linkLines(link), linkWords(link)]).toEqual([[], "runs before, and gives no tensor"]);
  });
});

describe("a scope", () => {
  const answer = near("net/a > net/b > f > net/c, net/d > f, f > top", "f", {
    "net/a": { ...withNan(2), distance: -2 },
  });

  test("is one box before the op in focus and one after it, with the worst health", () => {
    const { nodes, links } = nearPicture(answer, SCOPES);
    expect(nodes.map(({ title, note, mark }) => [title, note, mark.sign])).toEqual([
      ["f", "f", "✓"],
      ["net", "3 ops, 1 bad", "NaN"],
      ["c", "net/c", "✓"],
      ["top", "top", "✓"],
    ]);
    expect(links.map(linkLines)).toEqual([
      ["2 tensors  ✓"],
      [":0 → 0  ✓", "float32 [4]"],
      [":0 → 0  ✓", "float32 [4]"],
    ]);
  });

  test("is opened by a click, and the op in focus is in none", () => {
    const key = nearPicture(answer, SCOPES).nodes[1]?.opens;
    const { nodes } = nearPicture(answer, { ...SCOPES, opened: new Set([key ?? ""]) });
    expect(nodes.map(({ name }) => name)).toEqual(["f", "net/a", "net/b", "net/c", "net/d", "top"]);
    const inside = near("s/x > s/y > s/z", "s/y");
    expect(nearPicture(inside, SCOPES).nodes.map(({ name }) => name)).toContain("s/y");
  });

  test("stands for each op in one box, whatever is open", () => {
    const draw = random(3);
    for (let turn = 0; turn < 40; turn++) {
      const name = (i: number) => `${"ab"[draw(2)]}/${"cd"[draw(2)]}/n${i}`;
      const names = Array.from({ length: 12 }, (_, i) => name(i));
      const drawing = names.slice(1).map((one, i) => `${names[draw(i + 1)]} > ${one}`);
      const found = near(drawing.join(", "), names[draw(12)] as string);
      const opened = new Set<string>();
      for (let step = 0; step < 8; step++) {
        const { nodes, links } = nearPicture(found, { ...SCOPES, opened });
        const ops = nodes.map(({ kind, note }) => (kind === "op" ? 1 : Number.parseInt(note, 10)));
        expect(ops.reduce((a, b) => a + b)).toBe(found.ops.length);
        expect(links.every(({ from, to }) => from !== to)).toBe(true);
        const closed = nodes.find(({ opens }) => opens !== undefined);
        if (closed?.opens !== undefined) opened.add(closed.opens);
      }
    }
  });
});

test("a layer is one box, and its gradient another", () => {
  const layers = { a: { layer: "dense" }, b: { layer: "dense" }, f: { layer: "dense" } };
  const gradient = { layer: "dense" };
  const answer = near("a > b > f > gradient_tape/m > gradient_tape/n", "f", {
    ...{ ...layers, a: { layer: "dense", distance: -2 } },
    ...{ "gradient_tape/m": gradient, "gradient_tape/n": gradient },
  });
  const titles = nearPicture(answer, { ...EACH, by: "layer" }).nodes.map(({ title }) => title);
  expect(titles).toEqual(["f", "dense", "∇ dense"]);
});

describe("the way of a bad value", () => {
  const step = (opName: string) => ({
    target: { kind: "op", graph: graphId("g"), opName, graphExecution: undefined } as const,
  });

  test("goes from its birth through ops that pass it on, and no other way", () => {
    const answer = near("Log > id > mul > Sum, Log > other > Sum", "mul");
    const way = wayKeys([step("Sum"), step("mul"), step("Log")]);
    const { nodes, links } = nearPicture(answer, { ...EACH, way });
    expect(nodes.filter(({ isOnWay }) => isOnWay).map(({ title }) => title)).toEqual([
      "mul",
      "Log",
      "id",
      "Sum",
    ]);
    expect(links.filter(({ isOnWay }) => isOnWay)).toHaveLength(3);
  });

  test("may be outside of the picture", () => {
    const way = wayKeys([step("elsewhere"), step("mul"), step("before")]);
    const { nodes } = nearPicture(near("Log > mul", "mul"), { ...EACH, way });
    expect(nodes.map(({ isOnWay }) => isOnWay)).toEqual([true, false]);
  });

  test("is a chain of edges between its ends", () => {
    const draw = random(5);
    for (let turn = 0; turn < 60; turn++) {
      const edges = Array.from({ length: 14 }, (_, i) => ({ source: draw(i + 1), target: i + 1 }));
      const found = [
        ...wayThrough(
          Array.from({ length: 15 }, (_, i) => String(i)),
          edges,
          ["0", "14"],
        ).edges,
      ];
      expect(found[0]?.source).toBe(0);
      expect(found.at(-1)?.target).toBe(14);
      expect(found.every(({ target }, i) => i === found.length - 1 || found[i + 1]?.source === target)).toBe(
        true,
      );
    }
  });
});

test("of several marks the worst counts", () => {
  const mark = (level: "bad" | "zero" | "good") => ({ level, sign: level, words: "" });
  expect(worst([mark("good"), mark("bad"), mark("zero")]).level).toBe("bad");
  expect(worst([]).level).toBe("unknown");
});
