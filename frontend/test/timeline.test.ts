/** `model/timeline` and `views/timeline/draw.ts`: windows, the ruler, where rows are, and what is drawn. */
import { describe, expect, test } from "vitest";
import type { Timeline } from "../src/api/answers";
import {
  markAt,
  markBeside,
  markStill,
  markWords,
  overviewOf,
  pictureOf,
} from "../src/model/timeline/layout";
import { panned, pixelOf, placeOf, secondsWords, ticks, within, zoomed } from "../src/model/timeline/window";
import { drawRuler, drawTimeline, type Pen } from "../src/views/timeline/draw";
import type { Inks } from "../src/views/values/palette";
import { random } from "./random";

const WHOLE = { begin: 1000, end: 1100 };

describe("the window", () => {
  test.each([1, 2, 3])("stays within the run, whatever is done (seed %i)", (seed) => {
    const next = random(seed);
    let window = WHOLE;
    for (let i = 0; i < 500; i++) {
      const share = next(1001) / 1000;
      window =
        next(2) === 0
          ? zoomed(window, 2 ** (next(17) - 8), share, WHOLE, "time")
          : panned(window, share * 4 - 2, WHOLE, "time");
      expect(window.begin).toBeGreaterThanOrEqual(WHOLE.begin);
      expect(window.end).toBeLessThanOrEqual(WHOLE.end + 1e-9);
      expect(window.end - window.begin).toBeGreaterThan(1e-6);
    }
  });

  test("keeps what is under the pointer where it is, while the ends of the run are not reached", () => {
    const from = { begin: 1040, end: 1060 };
    for (const share of [0, 0.3, 1]) {
      const to = zoomed(from, 0.1, share, WHOLE, "time");
      expect(placeOf(share * 800, to, 800)).toBeCloseTo(placeOf(share * 800, from, 800), 9);
      expect(to.end - to.begin).toBeCloseTo(2, 9);
    }
  });

  test("is the whole run if more is wished for", () => {
    expect(within({ begin: 0, end: 5000 }, WHOLE, "time")).toEqual(WHOLE);
    expect(within({ begin: 3, end: 3 }, { begin: 3, end: 3 }, "time")).toEqual({ begin: 3, end: 3 });
  });

  test("has a pixel for each place, and back", () => {
    expect(pixelOf(1025, WHOLE, 400)).toBe(100);
    expect(placeOf(100, WHOLE, 400)).toBe(1025);
    expect(pixelOf(3, { begin: 3, end: 3 }, 400)).toBe(200);
  });
});

describe("the ruler", () => {
  test("counts round times from the begin of the run", () => {
    const labels = ticks({ begin: 1000, end: 1001 }, 500, "time", 1000).map(({ label }) => label);
    expect(labels).toEqual(["0.0 s", "200 ms", "400 ms", "600 ms", "800 ms", "1.0 s"]);
  });

  test.each([7, 8])("has marks that are far enough from each other (seed %i)", (seed) => {
    const next = random(seed);
    for (let i = 0; i < 300; i++) {
      const begin = 1000 + next(1000) / 10;
      const window = { begin, end: begin + (1 + next(9)) * 10 ** (next(8) - 5) };
      const at = ticks(window, 900, "time", 1000).map((tick) => pixelOf(tick.at, window, 900));
      expect(at.length).toBeLessThanOrEqual(11);
      at.slice(1).forEach((x, n) => {
        expect(x - (at[n] ?? 0)).toBeGreaterThan(80);
      });
    }
  });

  test("has whole places in the sequence", () => {
    const labels = ticks({ begin: 9998, end: 10002 }, 2000, "sequence", 0).map(({ label }) => label);
    expect(labels).toEqual(["9,998", "9,999", "10,000", "10,001", "10,002"]);
  });

  test("writes times in the unit that fits", () => {
    expect([1.5, 0.25, 12e-6].map((s) => secondsWords(s, s / 10))).toEqual(["1.5 s", "250 ms", "12 µs"]);
  });
});

const NO_ROWS = { position: [], name: [], type: [], begin: [], end: [], bad: [] };

/** A thread with three calls, and tensors that are counted, one of them bad. */
const ANSWER: Timeline = {
  ...{ generation: 1, first: 0, last: 100, begin: 0, end: 100, num_bins: 100, since: 0, until: 100 },
  tracks: [
    {
      host: "vm",
      thread: "MainThread",
      device: undefined,
      lanes: [
        {
          ...{ list: "executions", total: 3, bins: undefined },
          rows: {
            ...{ position: [0, 1, 2], name: ["Fill", "__inference_loss_7", "Fill"], type: ["", "", ""] },
            ...{ begin: [0, 1, 60], end: [1, 60, 100], bad: [false, true, false] },
          },
        },
        {
          ...{ list: "graph_executions", total: 1_000_000, rows: NO_ROWS },
          bins: {
            bin: [0, 41, 42],
            count: [10, 999_989, 1],
            bad: [0, 1, 0],
            first_bad: [undefined, 7, undefined],
          },
        },
      ],
    },
  ],
  steps: [{ host: "vm", step: [4], end: [60] }],
};
const PICTURE = pictureOf(ANSWER, ANSWER, 1000);
const CALLS = PICTURE.marks[0]?.[0]?.y ?? 0;
const TENSORS = PICTURE.marks[1]?.[0]?.y ?? 0;

describe("the picture", () => {
  test("has calls over what ran inside them, where they were", () => {
    expect(CALLS).toBeLessThan(TENSORS);
    expect(PICTURE.tracks.map(({ title }) => title)).toEqual(["vm · MainThread"]);
    expect(PICTURE.marks[0]?.map(({ x, width }) => [x, width])).toEqual([
      ...[
        [0, 10],
        [10, 590],
        [600, 400],
      ],
    ]);
  });

  test("has higher lanes where there is room, within reason", () => {
    const heights = [0, 150, 4000].map((room) => {
      const { marks, height } = pictureOf(ANSWER, ANSWER, 1000, room);
      expect(height).toBeLessThanOrEqual(Math.max(room, PICTURE.height));
      return marks[0]?.[0]?.height;
    });
    expect(heights).toEqual([24, 58, 72]);
  });

  test("finds what is at a point, the bad one first", () => {
    expect(markAt(PICTURE, 300, CALLS + 5)).toMatchObject({ kind: "row", position: 1 });
    const zoomedOut = pictureOf(ANSWER, ANSWER, 100);
    expect(markAt(zoomedOut, 44.5, TENSORS + 5)).toMatchObject({ kind: "bin", bad: 1, firstBad: 7 });
    expect(markAt(PICTURE, 300, TENSORS + 5)).toBeUndefined();
    expect(markAt(PICTURE, 300, 2)).toBeUndefined();
  });

  test("is walked through row by row, track by track, and to what is bad", () => {
    const first = markBeside(PICTURE, undefined, { across: 1 });
    expect(first).toMatchObject({ position: 0 });
    const second = markBeside(PICTURE, first, { across: 1 });
    expect(second).toMatchObject({ position: 1 });
    expect(markBeside(PICTURE, second, { across: -1 })).toBe(first);
    expect(markBeside(PICTURE, first, { across: -1 })).toBe(first);
    const below = markBeside(PICTURE, second, { down: 1 });
    expect(below).toMatchObject({ kind: "bin", begin: 41 });
    expect(markBeside(PICTURE, below, { down: 1 })).toBe(below);
    expect(markBeside(PICTURE, undefined, { across: 1, onlyBad: true })).toMatchObject({ position: 1 });
  });

  test("keeps what is pointed at when counted rows come apart, and when they are counted again", () => {
    const counted = PICTURE.marks[1]?.[1];
    const rows = {
      ...{ position: [6, 7, 8], name: ["Exp", "Log", "Mul"], type: ["Exp", "Log", "Mul"] },
      ...{ begin: [41.2, 41.3, 41.5], end: [41.3, 41.4, 41.6], bad: [false, true, false] },
    };
    const track = { host: "vm", thread: "MainThread", device: undefined };
    const [calls] = ANSWER.tracks[0]?.lanes ?? [];
    const lanes = [...(calls ? [calls] : []), { list: "graph_executions", total: 3, bins: undefined, rows }];
    const nearer = pictureOf({ ...ANSWER, tracks: [{ ...track, lanes }] }, ANSWER, 1000);
    const bad = counted && markStill(nearer, counted);
    expect(bad).toMatchObject({ kind: "row", position: 7 });
    expect(bad && markStill(PICTURE, bad)).toBe(counted);
    const call = PICTURE.marks[0]?.[1];
    expect(call && markStill(nearer, call)).toMatchObject({ kind: "row", position: 1 });
    const elsewhere = PICTURE.marks[1]?.[0];
    expect(elsewhere && markStill(nearer, elsewhere)).toBeUndefined();
  });

  test("says what a mark is, and that a duration is a bound", () => {
    const words = (mark = markAt(PICTURE, 300, CALLS + 5)) => mark && markWords(mark, "time", 0).join("; ");
    expect(words()).toBe("#1 loss; call; NaN or ∞ in or out of it; at 1.000 s, for at most 59.00 s");
    expect(words(PICTURE.marks[1]?.[1])).toContain("999,989 tensors; 1 of them bad; the first bad one is #7");
  });

  test("has the ops of a device that TensorFlow timed, with how long each took", () => {
    const rows = {
      name: ["Log", "Mul/fused"],
      type: ["Log", ""],
      bad: [true, false],
      begin: [0, 2],
      end: [2, 6],
    };
    const lane = { list: "op_times", total: 2, bins: undefined, rows: { ...rows, position: [7, undefined] } };
    const device = "/job:localhost/replica:0/task:0/device:CPU:0";
    const track = { host: "vm", thread: undefined, device, lanes: [lane] };
    const { tracks, marks } = pictureOf({ ...ANSWER, tracks: [track] }, WHOLE, 100);
    expect(tracks.map(({ title }) => title)).toEqual(["vm · ops on CPU:0"]);
    expect(marks[0]?.map((mark) => markWords(mark, "time", 0).join("; "))).toEqual([
      "#7 Log; op of the type Log, as TensorFlow timed it; NaN or ∞ in what it computed; at 0 s, for 2.000 s",
      "Mul/fused; op that TensorFlow made; at 2.000 s, for 4.000 s",
    ]);
    // Their tensors are in the overview once.
    expect(overviewOf({ ...ANSWER, tracks: [...ANSWER.tracks, track] })).toEqual(overviewOf(ANSWER));
  });

  test("keeps one bad row among a million in the overview of the run", () => {
    const { bad, measured } = overviewOf(ANSWER);
    expect(bad.flatMap((n, part) => (n > 0 ? [part] : []))).toEqual([41, 60]);
    expect(measured.reduce((a, b) => a + b)).toBe(1_000_003);
  });
});

/** A pen that writes down what it draws; each letter is six pixels wide. */
function loggingPen() {
  const log: string[] = [];
  let path: string[] = [];
  const pen = {
    ...{ fillStyle: "", strokeStyle: "", lineWidth: 1, font: "", textBaseline: "" },
    fillRect: (...box: number[]) => log.push(`${pen.fillStyle} box ${box.map(Math.round).join(" ")}`),
    strokeRect: (...box: number[]) => log.push(`${pen.strokeStyle} outline ${box.map(Math.round).join(" ")}`),
    fillText: (text: string) => log.push(`${pen.fillStyle} "${text}"`),
    measureText: (text: string) => ({ width: 6 * text.length }),
    beginPath: () => {
      path = [];
    },
    moveTo: (x: number, y: number) => path.push(`${Math.round(x)},${Math.round(y)}`),
    lineTo: (x: number, y: number) => path.push(`${Math.round(x)},${Math.round(y)}`),
    closePath: () => {},
    fill: () => log.push(`${pen.fillStyle} shape ${path.join(" ")}`),
    stroke: () => {},
  };
  return { log, pen: pen as unknown as Pen };
}

/** Each colour is its own name. */
const INKS = new Proxy({}, { get: (_, name) => String(name) }) as Inks;

function drawn(width: number, more: Partial<Parameters<typeof drawTimeline>[0]> = {}) {
  const { log, pen } = loggingPen();
  const picture = pictureOf(ANSWER, ANSWER, width);
  const scene = { pen, inks: INKS, width, window: ANSWER, picture, borders: ANSWER.steps, range: undefined };
  drawTimeline({ ...scene, at: undefined, isFocused: () => false, ...more });
  return log;
}

describe("the drawing", () => {
  test("has names where there is room, and their begin where there is less", () => {
    expect(drawn(1000)).toContain('text "loss"');
    expect(drawn(1000)).toContain('callText "Fill"');
    expect(drawn(70).filter((line) => line.includes('"Fill"'))).toEqual([]);
  });

  test("marks what is bad by a shape, after everything else", () => {
    const log = drawn(100);
    const shapes = log.filter((line) => line.startsWith("bad shape"));
    expect(shapes).toEqual([
      `bad shape 2,${CALLS} 11,${CALLS} 7,${CALLS + 7}`,
      expect.stringContaining(`,${TENSORS} `),
    ]);
    const last = log.findLastIndex((line) => /^(call|envelope|op|badFill) box/.test(line));
    expect(log.findIndex((line) => line.startsWith("bad shape"))).toBeGreaterThan(last);
  });

  test("has the ends of steps, the chosen range and what is in focus", () => {
    const log = drawn(1000, {
      range: { begin: 10, end: 20 },
      isFocused: (mark) => mark.kind === "row" && mark.position === 2,
    });
    expect(log[0]).toMatch(/^range box 100 0 100 /);
    expect(log).toContain('dim "step 4 ends"');
    expect(log.some((line) => line.startsWith("focus outline 600 "))).toBe(true);
  });

  test("has a ruler whose labels are not cut off", () => {
    const { log, pen } = loggingPen();
    const marks = [
      { at: 0, label: "0 s" },
      { at: 99, label: "99 s" },
    ];
    drawRuler({ pen, inks: INKS, width: 1000, window: ANSWER }, marks);
    expect(log.filter((line) => line.startsWith("dim box"))).toHaveLength(2);
    expect(log.filter((line) => line.includes('"'))).toEqual(['dim "0 s"']);
  });
});
