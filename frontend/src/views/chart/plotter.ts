/** Draws charts with uPlot. It is most of what a chart needs, so it is fetched when the first one is shown. */
import uPlot from "uplot";
import styles from "uplot/dist/uPlot.min.css?inline";
import {
  type Aligned,
  aligned,
  axisSplits,
  axisWords,
  type Cell,
  type ChartLine,
  type ChartMark,
  type Scale,
  smallestOf,
} from "../../model/chart";
import type { Inks } from "../values/palette";

export interface PlotSpec {
  readonly lines: readonly ChartLine[];
  readonly marks: readonly ChartMark[];
  readonly scale: Scale;
  /** Whether places are seconds since the epoch. */
  readonly isTime: boolean;
  /** What is in focus. */
  readonly now: number | undefined;
  /** Without axes. */
  readonly isSmall: boolean;
  readonly inks: Inks;
  readonly width: number;
  readonly height: number;
}

export interface PlotEvents {
  /** The pointer, or `point`, has come to a place; undefined when it left. */
  hover(x: number | undefined): void;
  pick(x: number): void;
  zoom(from: number, to: number): void;
  reset(): void;
}

export interface Plotter {
  draw(spec: PlotSpec): void;
  /** Moves the cursor. */
  point(x: number | undefined): void;
  destroy(): void;
}

const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 3], [9, 3, 2, 3], [1, 4], [14, 4]];
const BAD = 4;
/** Pixels from which on a press is a range. */
const DRAG = 4;
/** Distances of numbers on an axis: those of uPlot end at 1e16, and numbers that overflow do not. */
const STEPS = Array.from({ length: 70 }, (_, i) =>
  [1, 2, 5].map((digit) => Number(`${digit}e${i - 31}`)),
).flat();
/** Distances on the axis of occurrences and of steps: there is nothing between two of them. */
const WHOLE = STEPS.filter((step) => step >= 1);
const DISTRIBUTIONS = { linear: 1, log: 3, asinh: 4 } as const;

export function createPlotter(parent: HTMLElement, events: PlotEvents): Plotter {
  addStyles();
  let plot: uPlot | undefined;
  let last: PlotSpec | undefined;
  return {
    draw(spec) {
      if (plot !== undefined && last !== undefined && looksAlike(last, spec)) {
        last = spec;
        if (plot.width !== spec.width || plot.height !== spec.height) plot.setSize(spec);
        plot.setData(dataOf(aligned(spec.lines, spec.scale)));
        return;
      }
      plot?.destroy();
      last = spec;
      plot = new uPlot(
        optionsOf(spec, () => last ?? spec, events),
        dataOf(aligned(spec.lines, spec.scale)),
        parent,
      );
    },
    point(x) {
      if (plot === undefined) return;
      if (x === undefined) plot.setCursor({ left: -10, top: -10 }, false);
      else plot.setCursor({ left: plot.valToPos(x, "x"), top: plot.over.clientHeight / 2 }, false);
      events.hover(x);
    },
    destroy() {
      plot?.destroy();
    },
  };
}

let hasStyles = false;

function addStyles(): void {
  if (hasStyles) return;
  hasStyles = true;
  const element = document.createElement("style");
  element.textContent = styles;
  document.head.prepend(element);
}

/** Whether only numbers differ. */
function looksAlike(a: PlotSpec, b: PlotSpec): boolean {
  const look = ({ lines, scale, isTime, isSmall }: PlotSpec) =>
    JSON.stringify([scale, isTime, isSmall, lines.map((line) => [line.look, line.low !== undefined])]);
  return a.inks === b.inks && look(a) === look(b);
}

function dataOf({ x, lines }: Aligned): uPlot.AlignedData {
  const rows = lines.flatMap(({ y, low, high }) => (low && high ? [y, low, high] : [y]));
  return [x as number[], ...(rows as Cell[][])];
}

function optionsOf(spec: PlotSpec, now: () => PlotSpec, events: PlotEvents): uPlot.Options {
  const { width, height, lines, inks, isSmall } = spec;
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const line of lines) {
    const stroke = inks.lines[line.look % inks.lines.length] ?? inks.curve;
    const dash = [...(DASHES[line.look % DASHES.length] ?? [])];
    series.push({ label: line.label, stroke, width: 1.5, dash, points: { size: 4, fill: stroke } });
    if (line.low === undefined || line.high === undefined) continue;
    const at = series.length;
    series.push({ points: { show: false } }, { points: { show: false } });
    bands.push({ series: [at + 1, at], fill: `color-mix(in srgb, ${stroke} 22%, transparent)` });
  }
  return {
    width,
    height,
    series,
    bands,
    legend: { show: false },
    scales: { x: { time: spec.isTime }, y: scaleOf(spec) },
    axes: isSmall ? [{ show: false }, { show: false }] : axesOf(spec),
    padding: isSmall ? [4, 4, 4, 4] : [10, 14, 0, 0],
    cursor: {
      y: false,
      // A click that moved by a pixel is one.
      drag: { x: true, y: false, setScale: false, click: () => {} },
      points: { size: 7 },
      bind: {
        dblclick: () => () => {
          events.reset();
          return null;
        },
      },
    },
    hooks: hooksOf(now, events),
  };
}

function scaleOf({ scale, lines }: PlotSpec): uPlot.Scale {
  const distr = DISTRIBUTIONS[scale];
  return scale === "asinh" ? { distr, asinh: smallestOf(lines) } : { distr };
}

function axesOf({ inks, scale, isTime }: PlotSpec): uPlot.Axis[] {
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const common = {
    font,
    stroke: inks.dim,
    grid: { stroke: inks.line, width: 1 },
    ticks: { stroke: inks.line, width: 1, size: 4 },
  };
  const words = (_: uPlot, values: readonly (number | null)[]) => [...axisWords(values)];
  return [
    { ...common, size: 26, gap: 3, ...(!isTime && { incrs: WHOLE }) },
    {
      ...common,
      ...{ size: 58, gap: 4, values: words },
      incrs: STEPS,
      splits: (_, __, low, high) => [...axisSplits(scale, low, high)],
      filter: (_, splits) => splits,
    },
  ];
}

function hooksOf(now: () => PlotSpec, events: PlotEvents): uPlot.Hooks.Arrays {
  let isDragged = false;
  return {
    ready: [
      (plot) => {
        plot.over.addEventListener("pointerdown", () => {
          isDragged = false;
        });
        plot.over.addEventListener("click", () => {
          const { idx } = plot.cursor;
          const x = idx === null || idx === undefined ? undefined : plot.data[0][idx];
          if (!isDragged && x !== undefined) events.pick(x);
        });
      },
    ],
    setCursor: [
      ({ cursor, data }) => {
        const isInside = cursor.left !== undefined && cursor.left >= 0;
        events.hover(isInside && cursor.idx !== null ? data[0][cursor.idx ?? 0] : undefined);
      },
    ],
    setSelect: [
      (plot) => {
        const { left, width } = plot.select;
        const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        isDragged = width >= DRAG;
        if (isDragged) events.zoom(from, to);
      },
    ],
    draw: [(plot) => drawMarks(plot, now())],
  };
}

/** What is in focus, changed values, and a cross at the lower edge for each bad point. */
function drawMarks(plot: uPlot, { lines, marks, now, inks }: PlotSpec): void {
  const { ctx, bbox } = plot;
  const ratio = window.devicePixelRatio;
  const at = (x: number) => Math.round(plot.valToPos(x, "x", true)) + 0.5;
  const isSeen = (x: number) => at(x) >= bbox.left - 1 && at(x) <= bbox.left + bbox.width + 1;
  const upright = (x: number, ink: string, dash: number[]) => {
    if (!isSeen(x)) return;
    ctx.strokeStyle = ink;
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash(dash.map((part) => part * ratio));
    ctx.beginPath();
    ctx.moveTo(at(x), bbox.top);
    ctx.lineTo(at(x), bbox.top + bbox.height);
    ctx.stroke();
  };
  ctx.save();
  for (const { x } of marks) upright(x, inks.changed, [3, 3]);
  if (now !== undefined) upright(now, inks.focus, [3, 2]);
  ctx.setLineDash([]);
  ctx.strokeStyle = inks.bad;
  ctx.lineWidth = 1.5 * ratio;
  const [arm, base] = [(BAD / 1.3) * ratio, bbox.top + bbox.height - BAD * ratio];
  ctx.beginPath();
  for (const line of lines)
    line.bad?.forEach((isBad, i) => {
      const x = line.x[i];
      if (!isBad || x === undefined || !isSeen(x)) return;
      for (const side of [-1, 1]) {
        ctx.moveTo(at(x) - side * arm, base - arm);
        ctx.lineTo(at(x) + side * arm, base + arm);
      }
    });
  ctx.stroke();
  ctx.restore();
}
