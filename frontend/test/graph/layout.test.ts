/** `model/graph/layout.ts`, `model/graph/viewport.ts`, `views/graph/layered.ts`: where boxes and links are. */
import { describe, expect, test } from "vitest";
import {
  type Box,
  framed,
  type Layout,
  neighbourOf,
  pathOf,
  shortened,
  unplaced,
} from "../../src/model/graph/layout";
import { nearPicture } from "../../src/model/graph/near";
import { beginning, fitted, moved, revealed, type Viewport, zoomed } from "../../src/model/graph/viewport";
import { layered } from "../../src/views/graph/layered";
import { random } from "../random";
import { near } from "./fixture";

const LOOK = { by: "op", opened: new Set(), way: [] } as const;

function drawn(drawing: string, focus: string) {
  const picture = nearPicture(near(drawing, focus), LOOK as never);
  return { picture, layout: layered(unplaced(picture)) };
}

const key = (name: string) => `op g ${name}`;
const box = (layout: Layout, name: string) => layout.boxes.get(key(name)) as Box;

describe("the layout", () => {
  test("goes from inputs to consumers, and no two boxes overlap", () => {
    const draw = random(11);
    for (let turn = 0; turn < 10; turn++) {
      const lines = Array.from({ length: 14 }, (_, i) => `n${draw(i + 1)} > n${i + 1}`);
      const { picture, layout } = drawn(lines.join(", "), "n0");
      for (const { from, to } of picture.links) {
        const [a, b] = [layout.boxes.get(from) as Box, layout.boxes.get(to) as Box];
        expect(a.x + a.width).toBeLessThanOrEqual(b.x);
      }
      const all = [...layout.boxes.values()];
      all.forEach((a, i) => {
        expect(all.slice(i + 1).filter((b) => overlap(a, b))).toEqual([]);
      });
      expect(
        all.every(
          ({ x, y, width, height }) =>
            x >= 0 && y >= 0 && x + width <= layout.width && y + height <= layout.height,
        ),
      ).toBe(true);
    }
  });

  test("has room for what is left out, below the frame of a box", () => {
    const more = nearPicture(near("x > Log", "Log", { x: { inputs_left_out: 3 } }), LOOK as never);
    const [plain, withMore] = unplaced(more).nodes;
    expect((withMore?.height ?? 0) - (plain?.height ?? 0)).toBe(16);
    const whole = { x: 0, y: 0, width: 90, height: 56 };
    expect(framed(whole, more.nodes[1] as never).height).toBe(40);
    expect(framed(whole, more.nodes[0] as never)).toBe(whole);
  });

  test("has routes for all links, but of a large picture only for those that do not go far", () => {
    const step = (layers: number) => {
      const each = Array.from({ length: layers }, (_, i) => i);
      const forward = each.map((i) => `n${i} > n${i + 1}`);
      const backward = each.map((i) => `g${i + 1} > g${i}`);
      const kept = each.map((i) => `n${i} > g${i}`);
      const all = [...forward, `n${layers} > g${layers}`, ...backward, ...kept, "g0 > n0"];
      return nearPicture(near(all.join(", "), "n0"), LOOK as never);
    };
    const [small, large] = [step(20), step(100)];
    expect(unplaced(small).links.length).toBe(small.links.length);
    const left = unplaced(large).links.map(({ from, to }) => `${from} ${to}`);
    expect(left).toContain(`${key("n7")} ${key("n8")}`);
    expect(left).toContain(`${key("n99")} ${key("g99")}`);
    expect(left).not.toContain(`${key("n7")} ${key("g7")}`);
    expect(left.length).toBe(200 + 1 + 4);
  });

  test("of a circle has a way back", () => {
    const { picture, layout } = drawn("a > b > c > a", "b");
    const paths = picture.links.map(({ from, to, key: link }) =>
      pathOf(layout.boxes.get(from) as Box, layout.boxes.get(to) as Box, layout.routes.get(link)),
    );
    expect(paths.every((path) => /^M[-\d.]+,[-\d.]+ C/.test(path) && !path.includes("NaN"))).toBe(true);
  });
});

test("a link without a tensor goes over the boxes", () => {
  const at = (x: number) => ({ x, y: 100, width: 80, height: 40 });
  expect(pathOf(at(0), at(400), undefined)).toBe("M40,100 C40,34 440,34 440,100");
});

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

test("arrow keys go along links and between the boxes of a column", () => {
  const { picture, layout } = drawn("x > f, y > f, f > a, f > b", "f");
  const go = (from: string, arrow: string) => neighbourOf(key(from), arrow, layout, picture.links);
  expect([key("x"), key("y")]).toContain(go("f", "ArrowLeft"));
  expect(go("x", "ArrowRight")).toBe(key("f"));
  const [upper, lower] = box(layout, "a").y < box(layout, "b").y ? ["a", "b"] : ["b", "a"];
  expect(go(upper, "ArrowDown")).toBe(key(lower));
  expect(go(lower, "ArrowUp")).toBe(key(upper));
  expect(go(upper, "ArrowUp")).toBeUndefined();
  expect(go("x", "ArrowLeft")).toBeUndefined();
  expect(neighbourOf(undefined, "ArrowLeft", layout, picture.links)).toBeUndefined();
});

test("the middle of a long name is left out", () => {
  expect(shortened("Log")).toBe("Log");
  const cut = shortened(`begin${"x".repeat(60)}end`);
  expect(cut.length).toBeLessThanOrEqual(30);
  expect(cut.startsWith("begin") && cut.endsWith("end") && cut.includes("…")).toBe(true);
});

describe("the part that is seen", () => {
  const frame = { width: 600, height: 400 };
  const at = (view: Viewport, { x, y }: { x: number; y: number }) => [
    view.scale * x + view.x,
    view.scale * y + view.y,
  ];

  test("is the whole picture in the middle, and never larger than it is", () => {
    expect(fitted({ width: 100, height: 50 }, frame)).toEqual({ scale: 1, x: 250, y: 175 });
    const wide = { width: 3200, height: 1200 };
    expect(fitted({ width: 100, height: 50 }, wide).scale).toBe(2);
    expect(fitted({ width: 3000, height: 50 }, wide).scale).toBeLessThan(1.1);
    const large = fitted({ width: 5760, height: 100 }, frame);
    expect(large.scale).toBeCloseTo(0.1);
    expect(large.x).toBeCloseTo(12);
  });

  test("begins at the op in focus and what is linked to it, when the whole cannot be read", () => {
    const focus = { x: 4000, y: 4000, width: 100, height: 40 };
    const view = beginning({ width: 9000, height: 9000 }, frame, [focus, { ...focus, x: 4300 }]);
    expect(at(view, { x: 4050, y: 4020 })).toEqual([300, 200]);
    expect(view.scale).toBeGreaterThan(0.4);
    const far = beginning({ width: 9000, height: 9000 }, frame, [focus, { ...focus, x: 8800 }]);
    expect(far.scale).toBe(0.8);
  });

  test("zooms around the pointer, which stays at the same point, within limits", () => {
    const draw = random(2);
    let view: Viewport = { x: 10, y: 20, scale: 1 };
    for (let i = 0; i < 50; i++) {
      const pointer = { x: draw(600), y: draw(400) };
      const under = { x: (pointer.x - view.x) / view.scale, y: (pointer.y - view.y) / view.scale };
      view = zoomed(view, 0.5 + draw(200) / 100, pointer);
      const [x, y] = at(view, under);
      expect(x).toBeCloseTo(pointer.x);
      expect(y).toBeCloseTo(pointer.y);
      expect(view.scale).toBeGreaterThanOrEqual(0.02);
      expect(view.scale).toBeLessThanOrEqual(3);
    }
  });

  test("moves as little as needed to show a box", () => {
    const view = { x: 0, y: 0, scale: 1 };
    const seen = { x: 100, y: 100, width: 50, height: 20 };
    expect(revealed(view, seen, frame)).toEqual(view);
    expect(revealed(view, { ...seen, x: 700 }, frame)).toEqual(moved(view, -162, 0));
    expect(revealed(view, { ...seen, y: -30 }, frame)).toEqual(moved(view, 0, 42));
  });
});
