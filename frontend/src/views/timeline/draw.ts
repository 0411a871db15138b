/**
 * Draws the timeline: its ruler, and threads with their rows. What is bad has a triangle as well as a colour, and
 * is drawn last, so that one among a million is seen.
 */
import { displayName } from "../../model/names";
import { isBad, type Mark, type TimelinePicture, type TrackPlace } from "../../model/timeline/layout";
import { pixelOf, type Span, type Tick } from "../../model/timeline/window";
import type { Inks } from "../values/palette";

/** The part of a canvas that is drawn on. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "font"
  | "textBaseline"
  | "fillRect"
  | "strokeRect"
  | "fillText"
  | "measureText"
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "closePath"
  | "fill"
  | "stroke"
>;

/** Where steps of a process ended. */
export interface Borders {
  readonly host: string;
  readonly step: readonly number[];
  readonly end: readonly number[];
}

export interface TimelineScene {
  readonly pen: Pen;
  readonly inks: Inks;
  readonly width: number;
  readonly window: Span;
  readonly picture: TimelinePicture;
  readonly borders: readonly Borders[];
  /** The range that filters the lists, or that is being chosen. */
  readonly range: Span | undefined;
  /** What the pointer or the keys are at. */
  readonly at: Mark | undefined;
  /** Whether a row is in focus. */
  readonly isFocused: (mark: Mark) => boolean;
}

export const RULER_HEIGHT = 22;
const FONT = "11px system-ui, sans-serif";
const PAD = 4;
/** The fewest letters of a name that say anything. */
const FEWEST = 3;
const TRIANGLE = { half: 4.5, height: 7 } as const;

export function drawRuler(
  { pen, inks, width, window }: Pick<TimelineScene, "pen" | "inks" | "width" | "window">,
  marks: readonly Tick[],
): void {
  pen.fillStyle = inks.raised;
  pen.fillRect(0, 0, width, RULER_HEIGHT);
  begin(pen);
  for (const { at, label } of marks) {
    const x = Math.round(pixelOf(at, window, width));
    pen.fillStyle = inks.dim;
    pen.fillRect(x, RULER_HEIGHT - 6, 1, 6);
    if (x + PAD + pen.measureText(label).width <= width) pen.fillText(label, x + PAD, RULER_HEIGHT / 2);
  }
}

export function drawTimeline(scene: TimelineScene): void {
  const { picture } = scene;
  begin(scene.pen);
  drawRange(scene);
  for (const track of picture.tracks) drawBorders(scene, track);
  const seen = picture.marks.flat().filter(({ x, width }) => x <= scene.width && x + width >= 0);
  for (const mark of seen) drawBox(scene, mark);
  for (const mark of seen) if (isBad(mark)) drawTriangle(scene, mark);
  for (const mark of seen) if (scene.isFocused(mark)) outline(scene, mark, scene.inks.focus, 2);
  if (scene.at !== undefined) outline(scene, scene.at, scene.inks.text, 1.5);
  for (const track of picture.tracks) drawTitle(scene, track);
}

function begin(pen: Pen): void {
  pen.font = FONT;
  pen.textBaseline = "middle";
}

function drawRange({ pen, inks, range, window, width, picture }: TimelineScene): void {
  if (range === undefined) return;
  const from = pixelOf(range.begin, window, width);
  pen.fillStyle = inks.range;
  pen.fillRect(from, 0, Math.max(1, pixelOf(range.end, window, width) - from), picture.height);
}

function drawTitle({ pen, inks, width }: TimelineScene, { title, y }: TrackPlace): void {
  pen.fillStyle = inks.panel;
  pen.fillRect(0, y + 2, pen.measureText(title).width + 2 * PAD, 17);
  pen.fillStyle = inks.text;
  pen.fillText(fitting(pen, title, width), PAD, y + 11);
}

/** The ends of the steps of a thread's process, with their numbers where there is room. */
function drawBorders({ pen, inks, window, width, borders }: TimelineScene, track: TrackPlace): void {
  let free = pen.measureText(track.title).width + 4 * PAD;
  for (const { host, step, end } of borders) {
    if (host !== track.host) continue;
    step.forEach((number, i) => {
      const x = Math.round(pixelOf(end[i] ?? 0, window, width));
      if (x < 0 || x > width) return;
      pen.fillStyle = inks.line;
      pen.fillRect(x, track.y + 2, 1, track.height - 2);
      const words = `step ${number} ends`;
      const length = pen.measureText(words).width + 2 * PAD;
      if (x - length < free) return;
      pen.fillStyle = inks.dim;
      pen.fillText(words, x - length + PAD, track.y + 11);
      free = x + PAD;
    });
  }
}

function drawBox(scene: TimelineScene, mark: Mark): void {
  const { pen, inks } = scene;
  const from = Math.max(0, mark.x);
  const length = Math.min(scene.width, mark.x + mark.width) - from;
  if (mark.kind === "bin") {
    const height = Math.max(3, mark.share * mark.height);
    pen.fillStyle = mark.list === "graph_executions" ? inks.envelope : inks.call;
    pen.fillRect(from, mark.y + mark.height - height, length, height);
    return;
  }
  pen.fillStyle = mark.bad ? inks.badFill : mark.list === "executions" ? inks.call : inks.op;
  // A gap between neighbours, where that leaves enough.
  pen.fillRect(from, mark.y, length > 4 ? length - 1 : length, mark.height);
  if (length <= 4) {
    pen.fillStyle = mark.bad ? inks.bad : mark.list === "graph_executions" ? inks.curve : inks.envelope;
    pen.fillRect(from, mark.y, Math.min(length, 1.5), mark.height);
  }
  const left = from + PAD + (mark.bad ? 2 * TRIANGLE.half : 0);
  const name = fitting(pen, displayName(mark.name), from + length - left - PAD);
  if (name === "") return;
  pen.fillStyle = mark.bad ? inks.text : mark.list === "executions" ? inks.callText : inks.text;
  pen.fillText(name, left, mark.y + mark.height / 2);
}

function drawTriangle({ pen, inks, width }: TimelineScene, mark: Mark): void {
  const isNarrow = mark.width < 3 * TRIANGLE.half;
  const middle = isNarrow ? mark.x + mark.width / 2 : Math.max(0, mark.x) + TRIANGLE.half + 1;
  const x = Math.max(TRIANGLE.half, Math.min(width - TRIANGLE.half, middle));
  pen.fillStyle = inks.bad;
  if (isNarrow) pen.fillRect(x - 1, mark.y, 2, mark.height);
  pen.beginPath();
  pen.moveTo(x - TRIANGLE.half, mark.y);
  pen.lineTo(x + TRIANGLE.half, mark.y);
  pen.lineTo(x, mark.y + TRIANGLE.height);
  pen.closePath();
  pen.fill();
}

function outline({ pen, width }: TimelineScene, mark: Mark, colour: string, line: number): void {
  const from = Math.max(0, mark.x);
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  const length = Math.max(3, Math.min(width, mark.x + mark.width) - from - 1);
  pen.strokeRect(from, mark.y, length, mark.height);
}

/** The text, or its begin where there is less room; empty where that says nothing. */
function fitting(pen: Pen, text: string, room: number): string {
  const length = pen.measureText(text).width;
  if (length <= room) return text;
  const letters = Math.floor((room / length) * text.length) - 1;
  return letters >= FEWEST ? `${text.slice(0, letters)}…` : "";
}
