/** `src/model/chart.ts`, `src/model/curves.ts`, `src/model/gradient_flow.ts`, and the store's slice of curves. */
import { describe, expect, test } from "vitest";
import type { Curve, GradientFlow } from "../src/api/curves";
import type { ValueRef } from "../src/api/values";
import { graphExecutionIndex, graphId } from "../src/base/ids";
import { shown } from "../src/base/loaded";
import {
  aligned,
  axisSplits,
  axisWords,
  type ChartLine,
  lineWords,
  nearestPoint,
  scaleFor,
  smallestOf,
  stepOfKey,
  stepped,
  valueWords,
} from "../src/model/chart";
import { chosenNumber, type DrawnCurve, lineOf, placeOf, recordedNumbers, spanOf } from "../src/model/curves";
import {
  cellOf,
  flowMap,
  flowWords,
  indexOf,
  recordedMeasures,
  shareOf,
  stepWords,
} from "../src/model/gradient_flow";
import { makeFixture } from "./fixture/fixture";
import { answering, asked, openStore } from "./open_store";
import { random } from "./random";

const line = (y: readonly (number | undefined)[], more: Partial<ChartLine> = {}): ChartLine => ({
  ...{ label: "a", x: y.map((_, i) => i), y, look: 0 },
  ...more,
});

describe("a chart", () => {
  test("gives all lines the same places: nothing where a line has no point, a gap where it has no number", () => {
    const lines = [line([1, Number.NaN, 3]), line([5, 6], { x: [0.5, 2] })];
    const { x, lines: rows } = aligned(lines, "linear");
    expect(x).toEqual([0, 0.5, 1, 2]);
    expect(rows.map(({ y }) => y)).toEqual([
      [1, undefined, null, 3],
      [undefined, 5, undefined, 6],
    ]);
  });

  test("has gaps on a logarithmic scale where a number is not above 0", () => {
    expect(aligned([line([0, 1])], "log").lines[0]?.y).toEqual([null, 1]);
    expect(aligned([line([0, 1])], "asinh").lines[0]?.y).toEqual([0, 1]);
  });

  test("takes a scale with negative numbers if there are any, also in a band", () => {
    expect(scaleFor([line([1, 2])], true)).toBe("log");
    expect(scaleFor([line([1, 2], { low: [-1, 0] })], true)).toBe("asinh");
    expect(scaleFor([line([-1])], false)).toBe("linear");
    expect(smallestOf([line([0, -0.5, 3])])).toBe(0.5);
  });

  test("finds the nearest point, as a search through all of them does", () => {
    const below = random(7);
    for (let round = 0; round < 200; round++) {
      const x = [...new Set(Array.from({ length: 1 + (round % 9) }, () => below(30)))].sort((a, b) => a - b);
      const to = below(80) / 2 - 5;
      const found = nearestPoint({ x }, to) ?? -1;
      const least = Math.min(...x.map((at) => Math.abs(at - to)));
      expect(Math.abs((x[found] ?? Number.NaN) - to)).toBe(least);
    }
    expect(nearestPoint({ x: [] }, 1)).toBeUndefined();
  });

  test("moves its cursor by points, and stays inside", () => {
    const one = line([1, 2, 3, 4]);
    expect(stepOfKey("ArrowLeft", 4)).toBe(-1);
    expect(stepOfKey("x", 4)).toBeUndefined();
    expect(stepped(one, undefined, 1)).toBe(0);
    expect(stepped(one, undefined, -1)).toBe(3);
    expect(stepped(one, 1.2, 1)).toBe(2);
    expect(stepped(one, 3, 4)).toBe(3);
    expect(stepped(one, 2, -4)).toBe(0);
  });

  test("is put into words", () => {
    const reduced = line([1.5, 3], { low: [1, 3], high: [2, 3], bad: [false, true] });
    expect(valueWords(reduced, 0)).toBe("1 … 2");
    expect(valueWords(reduced, 1)).toBe("3");
    expect(valueWords(line([undefined]), 0)).toBe("–");
    expect(lineWords(reduced)).toBe("a: 1 to 3 at 2 points, 1 bad");
    expect(lineWords(line([Number.NaN]))).toBe("a: no finite number at 1 point");
  });

  test("writes all numbers of an axis in one style", () => {
    expect(axisWords([0, 0.5, 1])).toEqual(["0", "0.5", "1"]);
    expect(axisWords([0, 0.00001, 0.000015])).toEqual(["0", "1e−5", "1.5e−5"]);
    expect(axisWords([-2e6, null, 2e6])).toEqual(["−2e6", "", "2e6"]);
  });
});

function curve(rows: Readonly<Record<string, readonly number[]>>, fields: Partial<Curve> = {}): Curve {
  const length = rows.mean?.length ?? 0;
  const count = (make: (i: number) => number) => Array.from({ length }, (_, i) => make(i));
  const all = {
    occurrence: count((i) => i),
    wall_time: count((i) => 100 + 2 * i),
    bad: count(() => 0),
    ...rows,
  };
  return {
    tensor: {
      name: "Log:0",
      op_type: "Log",
      graph_id: graphId("g1"),
      function: "loss",
      layer: undefined,
      variable: undefined,
    },
    ...{ number: "mean", numbers: ["mean", "bad"], total: length, num_bad: 0 },
    ...{ begin: 0, end: length, is_reduced: false, is_sampled: false, has_exponents: false },
    columns: new Map(Object.entries(all).map(([name, values]) => [name, Float64Array.from(values)])),
    ...fields,
  };
}

const SOURCE: ValueRef = { kind: "graph_execution", index: graphExecutionIndex(3) };
const drawn = (one: Curve): DrawnCurve => ({ source: SOURCE, curve: one });

describe("the numbers of an axis", () => {
  test("are round, or powers of ten, of any size", () => {
    expect(axisSplits("linear", 0, 1)).toEqual([0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]);
    expect(axisSplits("log", 1e-3, 1e3)).toEqual([1e-3, 1e-2, 1e-1, 1, 10, 100, 1000]);
    expect(axisSplits("log", 1, 1e37).at(-1)).toBeGreaterThan(1e30);
    expect(axisSplits("log", 2, 7)).toEqual([2, 3, 4, 5, 6, 7]);
    expect(axisSplits("asinh", -10, 10)).toContain(0);
    expect(axisSplits("linear", 5, 5)).toEqual([5]);
  });

  test("are few, in order and inside, whatever the range is", () => {
    const below = random(11);
    for (let round = 0; round < 300; round++) {
      const low = (below(2000) - 1000) * 10 ** (below(60) - 30);
      const high = low + (1 + below(1000)) * 10 ** (below(60) - 30);
      for (const scale of ["linear", "log", "asinh"] as const) {
        if (scale === "log" && low <= 0) continue;
        const found = axisSplits(scale, low, high);
        expect(found.length).toBeLessThan(20);
        expect(
          found.every(
            (value) =>
              value >= low * (1 - Math.sign(low) * 1e-6) && value <= high * (1 + Math.sign(high) * 1e-6),
          ),
        ).toBe(true);
        expect([...found].sort((a, b) => a - b)).toEqual(found);
      }
    }
  });
});

describe("a curve", () => {
  const four = curve({ mean: [1, 2, 3, 4], bad: [0, 0, 1, 0] });

  test("is a line over occurrences, which count from 1, or over time", () => {
    expect(lineOf(drawn(four), "occurrence", 2)).toMatchObject({
      ...{ label: "Log:0", x: [1, 2, 3, 4], y: [1, 2, 3, 4], look: 2, low: undefined },
      bad: [false, false, true, false],
    });
    expect(lineOf(drawn(four), "time", 0).x).toEqual([100, 102, 104, 106]);
  });

  test("has a band only where points stand for several occurrences whose numbers are known", () => {
    const ends = { mean: [2], low: [1], high: [3] };
    expect(lineOf(drawn(curve(ends, { is_reduced: true })), "occurrence", 0)).toMatchObject({
      low: [1],
      high: [3],
    });
    const sampled = curve(ends, { is_reduced: true, is_sampled: true });
    expect(lineOf(drawn(sampled), "occurrence", 0).low).toBeUndefined();
  });

  test("is zoomed to the occurrences of a range, at least two", () => {
    const wanted = { of: "t3", begin: 1, end: 3 };
    expect(spanOf(drawn(four), "occurrence", { from: 1.4, to: 3.2 })).toEqual(wanted);
    expect(spanOf(drawn(four), "time", { from: 101, to: 105 })).toEqual(wanted);
    expect(spanOf(drawn(four), "occurrence", { from: 1.4, to: 2.2 })).toBeUndefined();
    expect(spanOf(drawn(four), "occurrence", { from: -9, to: 99 })).toEqual({ of: "t3", begin: 0, end: 4 });
  });

  test("shows where an occurrence is, if it is drawn", () => {
    expect(placeOf(four, "occurrence", 2)).toBe(3);
    expect(placeOf(four, "time", 2)).toBe(104);
    expect(placeOf({ ...four, begin: 3 }, "occurrence", 2)).toBeUndefined();
  });

  test("offers the numbers of any tensor in the order of the list", () => {
    const counted = curve({}, { numbers: ["bad", "norm", "element"] });
    expect(recordedNumbers([drawn(four), drawn(counted)])).toEqual(["norm", "mean", "bad"]);
  });

  test("begins with what is bad where only counts are on record and any is", () => {
    const numbers = ["zero_share", "bad", "nan"];
    const good = drawn(curve({ bad: [0, 0, 0, 0] }, { numbers }));
    const bad = drawn(curve({ bad: [0, 94, 0, 0] }, { numbers }));
    expect(chosenNumber([good], undefined)).toBe("zero_share");
    expect(chosenNumber([good, bad], undefined)).toBe("bad");
    expect(chosenNumber([bad], "nan")).toBe("nan");
    expect(chosenNumber([drawn(curve({ bad: [9] }, { numbers: ["norm", ...numbers] }))], undefined)).toBe(
      "norm",
    );
  });
});

const HOLE = Number.NaN;

/** Two variables and three columns. */
function flow(columns: Readonly<Record<string, readonly number[]>>, steps = 3): GradientFlow {
  return {
    variables: ["net/low/kernel", "net/out/kernel"].map((variable) => ({
      variable,
      layer: undefined,
      steps,
      host: undefined,
    })),
    steps,
    num_columns: 3,
    columns: new Map(Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)])),
  };
}

describe("the flow of gradients", () => {
  const vanishing = flow({
    gradient_norm: [1e-8, 2e-8, 1e-8, 0.1, 0.1, HOLE],
    value_norm: [2, 2, 0, 1, 1, 1],
    update_norm: [1, 1, 1, 0.5, 0.5, 0.5],
    gradient_index: [4, 14, 24, 3, 13, HOLE],
    gradient_bad: [0, 0, 0, 0, 0, 0],
  });

  test("names the process of a variable where there are several", () => {
    const both = { ...vanishing, variables: vanishing.variables.map((one) => ({ ...one, host: "chief" })) };
    const [first] = flowMap(both, "gradient_norm").rows;
    expect([first?.variable, first?.title]).toEqual(["net/low/kernel · chief", "chief · low/kernel"]);
  });

  test("has a row for each variable, without the scopes that all begin with", () => {
    const { rows, range } = flowMap(vanishing, "gradient_norm");
    expect(rows.map(({ title }) => title)).toEqual(["low/kernel", "out/kernel"]);
    expect(rows[0]?.cells).toEqual([1e-8, 2e-8, 1e-8]);
    expect(range).toEqual({ low: 1e-8, high: 0.1 });
    expect(shareOf(1e-8, flowMap(vanishing, "gradient_norm"), false)).toBe(0);
    expect(shareOf(0.1, flowMap(vanishing, "gradient_norm"), false)).toBe(1);
  });

  test("divides updates by weights where there are any", () => {
    expect(flowMap(vanishing, "update_ratio").rows[0]?.cells).toEqual([0.5, 0.5, HOLE]);
    expect(cellOf(vanishing, "update_ratio", 1, 0)).toBe(0.5);
    expect(recordedMeasures(vanishing)).toEqual([
      "gradient_norm",
      "update_ratio",
      "value_norm",
      "update_norm",
    ]);
  });

  const step = (column: number) => `step ${column}`;

  test("says which gradient vanishes, is 0 or is bad", () => {
    expect(flowWords(flowMap(vanishing, "gradient_norm"), "gradient_norm", step)).toBe(
      "The gradient norm of low/kernel is 10,000,000 times smaller than that of out/kernel.",
    );
    const zero = flow({ gradient_norm: [0, 0, 0, 1, 1, 1] });
    expect(flowWords(flowMap(zero, "gradient_norm"), "gradient_norm", step)).toBe(
      "The gradient of low/kernel is 0.",
    );
    const bad = flow({ gradient_norm: [1, 1, 1, 1, 1, 1], gradient_bad: [0, 0, 0, 0, 2, 1] });
    expect(flowWords(flowMap(bad, "gradient_norm"), "gradient_norm", step)).toBe(
      "NaN or infinity in out/kernel, first in step 1.",
    );
    const even = flow({ gradient_norm: [1, 1, 1, 3, 3, 3] });
    expect(flowWords(flowMap(even, "gradient_norm"), "gradient_norm", step)).toBe(
      "From 1 (low/kernel) to 3 (out/kernel) in the middle of the run.",
    );
  });

  test("leads from a cell to its computation, and says its steps", () => {
    expect(indexOf(vanishing, "gradient_norm", 0, 1)).toBe(14);
    expect(indexOf(vanishing, "gradient_norm", 1, 2)).toBeUndefined();
    expect(stepWords(vanishing, 1)).toBe("step 2 of 3");
    expect(stepWords(flow({}, 10), 1)).toBe("steps 5–7 of 10");
  });
});

const DENSE: ValueRef = { kind: "graph_execution", index: graphExecutionIndex(2) };
const LOG: ValueRef = { kind: "graph_execution", index: graphExecutionIndex(5) };

async function open() {
  const answers = answering(makeFixture({ steps: 40, illFrom: 5 }));
  const log: string[] = [];
  return {
    log,
    ...(await openStore((url, init) => {
      const [route, query] = asked(url);
      const of = query.get("tensor") ?? query.get("graph_execution");
      if (route === "curve") log.push(`${of} ${query.get("number")} ${query.get("begin")}`);
      return answers(url, init);
    })),
  };
}

describe("the curves of the store", () => {
  test("are asked for when nothing else is there to show, or in their tab", async () => {
    const { store, log, settled } = await open();
    await settled(store.showValue(LOG));
    expect([log, store.isCurveSeen.value]).toEqual([[], false]);
    await settled(store.setValueTab("curve"));
    expect(log).toEqual(["5 null null"]);
    store.setValueTab("picture");
    await settled(store.showValue(DENSE));
    expect([log.slice(1), store.isCurveSeen.value]).toEqual([["2 null null"], true]);
    expect(shown(store.drawnCurves.value)?.[0]?.curve.number).toBe("norm");
  });

  test("draw the number that is wanted, of all tensors that are kept beside the one that is shown", async () => {
    const { store, log, settled } = await open();
    store.keepCurve({ kind: "variable", name: "w", of: "gradient" });
    store.drawNumber("mean");
    await settled(store.showValue(DENSE));
    expect(log).toEqual(["2 mean null", "w mean null"]);
    expect(shown(store.drawnCurves.value)).toHaveLength(2);
    store.dropCurve({ kind: "variable", name: "w", of: "gradient" });
    store.drawNumber("std");
    await settled();
    // Nobody has it on record, so the first that is recorded is asked for.
    expect(log.slice(-2)).toEqual(["2 std null", "2 norm null"]);
  });

  test("are zoomed for their own tensor only", async () => {
    const { store, log, settled } = await open();
    await settled(store.showValue(DENSE));
    await settled(store.zoomCurve({ of: "t2", begin: 5, end: 9 }));
    expect(shown(store.drawnCurves.value)?.[0]?.curve.columns.get("mean")).toHaveLength(4);
    await settled(store.showValue({ kind: "graph_execution", index: graphExecutionIndex(1) }));
    expect(log).toEqual(["2 null null", "2 null 5", "1 null null"]);
  });

  test("lead to a computation, which is then in focus and shown", async () => {
    const { store, settled } = await open();
    await settled(store.showValue(DENSE));
    const [first] = shown(store.drawnCurves.value) ?? [];
    await settled(store.goToPoint(first as DrawnCurve, 7, true));
    expect(store.graphExecution.value).toBe(72);
    expect(store.value.value).toEqual({ kind: "graph_execution", index: 72 });
    expect(store.valueView.value?.info.occurrence).toBe(7);
  });

  test("are restored by a link", async () => {
    const { store, settled } = await open();
    store.setValueTab("curve");
    store.drawNumber("mean");
    await settled(store.showValue(LOG));
    expect(store.link.value).toMatchObject({ tab: "curve", number: "mean" });
  });
});
