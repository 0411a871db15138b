/** The part of the timeline that is seen: zooming, panning, and the marks of its ruler. */
import { grouped } from "../../base/text";

/** Seconds since the epoch, or places in the order on record. */
export type TimelineAxis = "time" | "sequence";

/** A part of an axis. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

export interface Tick {
  readonly at: number;
  readonly label: string;
}

/** The shortest window: a clock has no finer times, and a name needs room. */
const LEAST: Readonly<Record<TimelineAxis, number>> = { time: 2e-6, sequence: 2 };
/** Pixels between two marks of the ruler, at least. */
const TICK = 90;

/** A part of an axis as a link has it, such as `1764150000.25..1764150001`; undefined when the text is none. */
export function readSpan(text: string): Span | undefined {
  const [begin = Number.NaN, end = Number.NaN, ...more] = text.split("..").map(Number);
  return begin < end && Number.isFinite(end - begin) && more.length === 0 ? { begin, end } : undefined;
}

export const writeSpan = ({ begin, end }: Span) => `${begin}..${end}`;

/** The window, moved and shortened so that it lies within the whole. */
export function within({ begin, end }: Span, whole: Span, axis: TimelineAxis): Span {
  const most = whole.end - whole.begin;
  const length = Math.min(most, Math.max(LEAST[axis], end - begin));
  const middle = (begin + end) / 2;
  const from = Math.max(whole.begin, Math.min(whole.end - length, middle - length / 2));
  return length === most ? whole : { begin: from, end: from + length };
}

/** Shows more for a factor above 1, less below; what is at a share of the window, from 0 to 1, stays there. */
export function zoomed(window: Span, factor: number, share: number, whole: Span, axis: TimelineAxis): Span {
  const length = window.end - window.begin;
  const least = Math.min(LEAST[axis], whole.end - whole.begin);
  const next = Math.max(least, Math.min(whole.end - whole.begin, length * factor));
  const begin = window.begin + share * (length - next);
  return within({ begin, end: begin + next }, whole, axis);
}

/** Moves the window by a share of its length. */
export function panned(window: Span, share: number, whole: Span, axis: TimelineAxis): Span {
  const by = share * (window.end - window.begin);
  return within({ begin: window.begin + by, end: window.end + by }, whole, axis);
}

/** The pixel of a place on the axis. */
export function pixelOf(at: number, { begin, end }: Span, width: number): number {
  return end > begin ? ((at - begin) / (end - begin)) * width : width / 2;
}

/** The place at a pixel. */
export function placeOf(pixel: number, { begin, end }: Span, width: number): number {
  return width > 0 ? begin + (pixel / width) * (end - begin) : begin;
}

/** Round numbers along the window; times are counted from the begin of the run. */
export function ticks(window: Span, width: number, axis: TimelineAxis, zero: number): readonly Tick[] {
  const from = axis === "time" ? zero : 0;
  const room = Math.max(1, Math.floor(width / TICK));
  const step = roundStep((window.end - window.begin) / room, axis);
  if (!(step > 0)) return [];
  const first = Math.ceil((window.begin - from) / step);
  const count = Math.floor((window.end - from) / step) - first + 1;
  return Array.from({ length: Math.max(0, Math.min(room + 1, count)) }, (_, i) => {
    const at = (first + i) * step;
    return { at: from + at, label: axis === "time" ? secondsWords(at, step) : grouped(at) };
  });
}

/** The smallest of 1, 2, 5, 10, … and of the tenths of these that is not below a length. */
function roundStep(length: number, axis: TimelineAxis): number {
  if (!(length > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(length));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= length * (1 - 1e-9)) ?? 10 * power;
  return axis === "sequence" ? Math.max(1, step) : step;
}

const UNITS = [
  ["s", 1],
  ["ms", 1e-3],
  ["µs", 1e-6],
] as const;

/** Seconds in the unit that fits how exact they are: "1.5 s", "250 ms", "12 µs". */
export function secondsWords(seconds: number, exact = Math.abs(seconds) / 1000 || 1): string {
  const size = Math.abs(seconds);
  const [unit, scale] =
    UNITS.find(([, scale]) => size >= scale * 0.9995) ?? (size === 0 ? UNITS[0] : UNITS[2]);
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(exact / scale) + 1e-9)));
  return `${(seconds / scale).toFixed(Number.isFinite(digits) ? digits : 0)} ${unit}`;
}

/** A place on the axis in words. */
export function placeWords(at: number, axis: TimelineAxis, zero: number): string {
  return axis === "time" ? secondsWords(at - zero) : `place ${grouped(at)}`;
}
