/** What ran in each thread, on a canvas: a ruler, a track for each thread, and the whole run below. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  type Mark,
  markAt,
  markBeside,
  markStill,
  markWords,
  overviewOf,
  pictureOf,
  type TimelinePicture,
} from "../../model/timeline/layout";
import {
  panned,
  pixelOf,
  placeOf,
  placeWords,
  type Span,
  type TimelineAxis,
  ticks,
  zoomed,
} from "../../model/timeline/window";
import { Choice, optionsOf } from "../choice";
import { drag, useChange, useSize } from "../hooks";
import { Minimap } from "../minimap";
import { Button, Failure, Hint } from "../panel";
import type { Of, With } from "../props";
import { usePalette } from "../values/palette";
import { drawRuler, drawTimeline, RULER_HEIGHT, type TimelineScene } from "./draw";

type Uses = "dock.show" | "execution" | "graphExecution" | "timeline";
type Slice = Of<Uses>["timeline"];

/** Pixels that a click may move. */
const CLICK = 4;
const ZOOM = 1.6;
const PAN = 0.15;
const AXES = optionsOf<TimelineAxis>({ time: "Real time", sequence: "Sequence" });

export function TimelinePanel({ store }: With<Uses>) {
  const failure = store.timeline.failure.value;
  return (
    <div class="run-timeline slim short pile grow" data-testid="run-timeline">
      <Tools store={store} />
      {failure !== undefined && <Failure message={failure} />}
      <Plot store={store} />
    </div>
  );
}

function Tools({ store }: With<Uses>) {
  const { timeline } = store;
  return (
    <div class="run-timeline-tools line fixed">
      <Choice
        label="Axis"
        options={AXES}
        value={timeline.axis.value}
        choose={timeline.setAxis}
        testId="timeline-axis"
      />
      <Button text="Whole run" act={() => timeline.look(undefined)} testId="timeline-whole" />
      <ChosenRange store={store} />
      <Legend />
    </div>
  );
}

/** The range that filters the lists. */
function ChosenRange({ store }: With<Uses>) {
  const { timeline, dock } = store;
  const range = timeline.chosen.value;
  if (range === undefined) return null;
  const words = (at: number) => placeWords(at, timeline.axis.value, timeline.extent.value?.begin ?? 0);
  return (
    <span class="line" data-testid="timeline-range">
      <span>
        The lists show {words(range.begin)} to {words(range.end)}
      </span>
      <Button text="Show the lists" act={() => dock.show(undefined)} />
      <Button text="Show all rows" act={timeline.showAllRows} />
    </span>
  );
}

const LEGEND = [
  { look: "call", words: "call" },
  { look: "tensor", words: "tensor, op" },
  { look: "counted", words: "several" },
  { look: "bad", words: "NaN/∞" },
] as const;

function Legend() {
  return (
    <span class="run-timeline-legend line dim" aria-hidden="true">
      {LEGEND.map(({ look, words }) => (
        <span key={look}>
          <i class={`run-timeline-${look}`} /> {words}
        </span>
      ))}
    </span>
  );
}

interface Pointed {
  readonly mark: Mark;
  /** Where the card is, in pixels of the canvas. */
  readonly x: number;
  readonly y: number;
}

function Plot({ store }: With<Uses>) {
  const { timeline } = store;
  const frame = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(frame);
  const [pointed, point] = useState<Pointed>();
  const [drawn, setRange] = useState<Span>();
  const answer = timeline.seen.value;
  const window = timeline.window.value;
  const picture = useMemo(
    () => answer && window && pictureOf(answer, window, width, height),
    [answer, window, width, height],
  );
  useChange(() => timeline.setWidth(width), [width]);
  // What was pointed at may be elsewhere now, or be shown in more or less detail.
  const at = pointed && picture && markStill(picture, pointed.mark);
  const view = { store, picture, at, point, setRange };
  return (
    <>
      <Ruler store={store} width={width} />
      <div class="run-timeline-frame slim short grow" ref={frame}>
        <Canvas {...view} width={width} range={drawn ?? timeline.chosen.value} />
        {at !== undefined && pointed !== undefined && (
          <Card store={store} {...pointed} mark={at} width={width} />
        )}
      </div>
      {answer === undefined && <Hint>Loading …</Hint>}
      <Words store={store} mark={at} />
      <Whole store={store} width={width} />
    </>
  );
}

function Ruler({ store, width }: With<Uses, { width: number }>) {
  const { axis, window, extent } = store.timeline;
  const inks = usePalette();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [seen, zero] = [window.value, extent.value?.begin ?? 0];
  useLayoutEffect(() => {
    const pen = canvas.current && prepared(canvas.current, width, RULER_HEIGHT);
    if (pen && seen) drawRuler({ pen, inks, width, window: seen }, ticks(seen, width, axis.value, zero));
  }, [seen, zero, axis.value, width, inks]);
  return <canvas class="fixed" ref={canvas} style={{ height: `${RULER_HEIGHT}px` }} />;
}

/** The pen of a canvas that has this size on the page. */
function prepared(canvas: HTMLCanvasElement, width: number, height: number) {
  const ratio = globalThis.devicePixelRatio;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const pen = canvas.getContext("2d");
  pen?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}

interface CanvasProps {
  readonly picture: TimelinePicture | undefined;
  readonly at: Mark | undefined;
  readonly point: (at: Pointed | undefined) => void;
  /** Shows a range that is being chosen. */
  readonly setRange: (range: Span | undefined) => void;
}

interface DrawnProps extends CanvasProps {
  readonly width: number;
  readonly range: Span | undefined;
}

function Canvas({ store, width, range, ...props }: With<Uses, DrawnProps>) {
  const { picture, at, point } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = Math.max(60, picture?.height ?? 0);
  useDrawing(store, canvas, { ...props, width, range }, height);
  useWheel(canvas, store.timeline);
  return (
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: its keys are its own.
    <canvas
      ref={canvas}
      class="run-timeline-canvas"
      style={{ height: `${height}px` }}
      role="application"
      aria-label="Timeline. W and S zoom, A and D move, arrow keys go from row to row."
      aria-describedby="run-timeline-words"
      tabIndex={0}
      data-testid="timeline-canvas"
      onKeyDown={(event) => takeKey(event, store, props)}
      onPointerDown={(event) => press(event, store, props)}
      onPointerMove={(event) => {
        if (event.buttons === 0) point(pointedAt(picture, event.offsetX, event.offsetY));
      }}
      onPointerLeave={() => at !== undefined && point(undefined)}
    />
  );
}

function pointedAt(picture: TimelinePicture | undefined, x: number, y: number): Pointed | undefined {
  const mark = picture && markAt(picture, x, y);
  return mark && { mark, x, y };
}

/** Draws at most once a frame. */
function useDrawing(
  { timeline, execution, graphExecution }: Of<Uses>,
  canvas: RefObject<HTMLCanvasElement | null>,
  { picture, at, range, width }: DrawnProps,
  height: number,
): void {
  const inks = usePalette();
  const window = timeline.window.value;
  const borders = timeline.seen.value?.steps;
  const [call, tensor] = [execution.value, graphExecution.value];
  const focused = { executions: call, graph_executions: tensor, op_times: tensor };
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const pen = canvas.current && prepared(canvas.current, width, height);
      if (!pen || !picture || !window) return;
      const isFocused = (mark: Mark) =>
        mark.kind === "row" &&
        mark.list !== "session_runs" &&
        mark.position !== undefined &&
        focused[mark.list] === mark.position;
      const scene: TimelineScene = {
        pen,
        inks,
        width,
        window,
        picture,
        borders: borders ?? [],
        range,
        at,
        isFocused,
      };
      drawTimeline(scene);
    });
    return () => cancelAnimationFrame(frame);
  }, [inks, window, borders, picture, at, range, width, height, ...Object.values(focused)]);
}

/** A listener that is not passive cannot be an attribute. */
function useWheel(canvas: RefObject<HTMLCanvasElement | null>, timeline: Slice): void {
  useEffect(() => {
    const element = canvas.current;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const pixels = (event.deltaY || event.deltaX) * (event.deltaMode === 0 ? 1 : 30);
      const isAcross = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const width = Math.max(1, element?.clientWidth ?? 1);
      if (isAcross) pan(timeline, (event.deltaX || pixels) / width);
      else zoom(timeline, 2 ** (pixels / 240), event.offsetX / width);
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, []);
}

function zoom({ window, extent, axis, look }: Slice, factor: number, share: number): void {
  const [seen, whole] = [window.peek(), extent.peek()];
  if (seen && whole) look(zoomed(seen, factor, share, whole, axis.peek()));
}

function pan({ window, extent, axis, look }: Slice, share: number): void {
  const [seen, whole] = [window.peek(), extent.peek()];
  if (seen && whole) look(panned(seen, share, whole, axis.peek()));
}

/** Moves the timeline, chooses a range with Shift, or opens what is there if the pointer hardly moves. */
function press(event: PointerEvent, { timeline }: Of<Uses>, { picture, point, setRange }: CanvasProps): void {
  const seen = timeline.window.peek();
  if (event.button !== 0 || seen === undefined) return;
  const { clientWidth: width } = event.currentTarget as HTMLElement;
  const { offsetX, offsetY, clientX, shiftKey } = event;
  let [x, moved] = [clientX, 0];
  const range = () => {
    const ends = [offsetX, offsetX + x - clientX]
      .map((pixel) => placeOf(pixel, seen, width))
      .sort((a, b) => a - b);
    return { begin: ends[0] ?? 0, end: ends[1] ?? 0 };
  };
  const onMove = (to: PointerEvent) => {
    moved = Math.max(moved, Math.abs(to.clientX - clientX));
    const by = x - to.clientX;
    x = to.clientX;
    if (moved <= CLICK) return;
    point(undefined);
    if (shiftKey) setRange(range());
    else pan(timeline, by / width);
  };
  drag(event, onMove, () => {
    setRange(undefined);
    const mark = picture && markAt(picture, offsetX, offsetY);
    if (moved > CLICK && shiftKey) void timeline.choose(range());
    else if (moved <= CLICK && mark !== undefined) timeline.open(mark);
  });
}

/** What keys do; they zoom around a share of the window. */
const MOVES: Readonly<Record<string, (timeline: Slice, share: number) => void>> = {
  w: (timeline, share) => zoom(timeline, 1 / ZOOM, share),
  s: (timeline, share) => zoom(timeline, ZOOM, share),
  a: (timeline) => pan(timeline, -PAN),
  d: (timeline) => pan(timeline, PAN),
  "+": (timeline, share) => zoom(timeline, 1 / ZOOM, share),
  "=": (timeline, share) => zoom(timeline, 1 / ZOOM, share),
  "-": (timeline, share) => zoom(timeline, ZOOM, share),
  "0": ({ look }) => look(undefined),
  r: ({ window, choose }) => {
    const seen = window.peek();
    if (seen !== undefined) void choose(seen);
  },
};
const STEPS: Readonly<Record<string, Parameters<typeof markBeside>[2]>> = {
  arrowleft: { across: -1 },
  arrowright: { across: 1 },
  arrowup: { down: -1 },
  arrowdown: { down: 1 },
  b: { across: 1, onlyBad: true },
};

function takeKey(event: KeyboardEvent, { timeline }: Of<Uses>, { picture, at, point }: CanvasProps): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  const [move, step] = [MOVES[key], STEPS[key]];
  const element = event.currentTarget as HTMLElement;
  const middle = at === undefined ? 0.5 : (at.x + at.width / 2) / Math.max(1, element.clientWidth);
  if (move !== undefined) move(timeline, Math.max(0, Math.min(1, middle)));
  else if (step !== undefined && picture !== undefined) {
    const mark = markBeside(picture, at, step);
    if (mark !== undefined) point(reveal(mark, timeline, element));
  } else if (event.key === "Enter" && at !== undefined) timeline.open(at);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Moves the timeline if a mark is not seen, and returns where it is. */
function reveal(mark: Mark, timeline: Slice, { clientWidth: width }: HTMLElement): Pointed {
  const seen = timeline.window.peek() ?? mark;
  if (mark.end > seen.end) pan(timeline, 0.5);
  else if (mark.begin < seen.begin) pan(timeline, -0.5);
  const x = Math.max(0, Math.min(width, pixelOf(mark.begin, timeline.window.peek() ?? seen, width)));
  return { mark, x, y: mark.y + mark.height / 2 };
}

interface CardProps extends Pointed {
  readonly width: number;
}

/** What is under the pointer. */
function Card({ store, mark, x, y, width }: With<Uses, CardProps>) {
  const [title, ...rest] = wordsOf(store, mark);
  return (
    <div
      class={`run-timeline-card ${mark.kind === "row" && mark.bad ? "is-bad" : ""}`}
      style={{
        top: `${y + 14}px`,
        ...(x > width / 2 ? { right: `${width - x + 8}px` } : { left: `${x + 8}px` }),
      }}
      aria-hidden="true"
      data-testid="timeline-card"
    >
      <b>{title}</b>
      {rest.map((line) => (
        <span key={line}>{line}</span>
      ))}
    </div>
  );
}

/** The same in a line, also for screen readers. */
function Words({ store, mark }: With<Uses, { mark: Mark | undefined }>) {
  return (
    <p
      class="run-timeline-words fixed cut dim"
      id="run-timeline-words"
      role="status"
      data-testid="timeline-words"
    >
      {mark === undefined
        ? "Wheel or W and S zoom, drag or A and D move, Shift+drag chooses a range for the lists."
        : wordsOf(store, mark).join(", ")}
    </p>
  );
}

function wordsOf({ timeline }: Of<Uses>, mark: Mark): readonly string[] {
  return markWords(mark, timeline.axis.value, timeline.extent.value?.begin ?? 0);
}

/** The whole run, and the part of it that is seen. */
function Whole({ store, width }: With<Uses, { width: number }>) {
  const { timeline } = store;
  const answer = timeline.whole.value;
  const overview = useMemo(() => answer && overviewOf(answer), [answer]);
  const [seen, whole] = [timeline.window.value, timeline.extent.value];
  if (answer === undefined || seen === undefined || whole === undefined) return null;
  const parts = answer.num_bins;
  const words = [seen.begin, seen.end].map((at) => placeWords(at, timeline.axis.value, whole.begin));
  return (
    <Minimap
      label="Part of the run that is seen"
      axis="x"
      length={width}
      overview={overview}
      total={parts}
      begin={pixelOf(seen.begin, whole, parts)}
      end={pixelOf(seen.end, whole, parts)}
      focus={undefined}
      words={words.join(" to ")}
      onSeek={(part) => {
        const by = placeOf(part, whole, parts) - (seen.begin + seen.end) / 2;
        timeline.look({ begin: seen.begin + by, end: seen.end + by });
      }}
    />
  );
}
