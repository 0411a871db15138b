/**
 * The colours of a heat map: what each tile of a grid is painted with.
 *
 * A tile that holds a NaN or an infinity has the colour of that kind, so that one bad element among a million
 * is seen. Values of both signs have a scale with zero in its middle.
 */
import { FINITE, type Grid, NAN, NEG_INF, type NumberRange, POS_INF } from "./grid";

/** Red, green and blue, 0 to 255. */
export type Rgb = readonly [number, number, number];

export interface Palette {
  /** From low to high, for values of one sign. */
  readonly sequential: readonly Rgb[];
  /** From negative to positive. */
  readonly diverging: readonly Rgb[];
  readonly nan: Rgb;
  readonly posInf: Rgb;
  readonly negInf: Rgb;
  /** What tiles outside of the highlighted range fade to. */
  readonly faded: Rgb;
}

export interface Scale extends NumberRange {
  readonly isDiverging: boolean;
}

const STEPS = 256;
/** How far tiles without an element of the highlighted range fade, and those of which only a part is in it. */
const [FADE, HALF_FADE] = [0.86, 0.5];

/** The scale for the values of a range. */
export function scaleOf(range: NumberRange | undefined): Scale {
  const { low, high } = range ?? { low: 0, high: 0 };
  if (low >= 0 || high <= 0) return { low, high, isDiverging: false };
  const most = Math.max(-low, high);
  return { low: -most, high: most, isDiverging: true };
}

/**
 * Paints a grid: red, green, blue and opacity of each tile. `only` fades the tiles without an element in it, and
 * half those of several elements that may have elements inside and outside of it.
 */
export function paint(
  grid: Grid,
  scale: Scale,
  palette: Palette,
  only?: NumberRange | undefined,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint32Array(grid.rows * grid.columns);
  const inks = inksOf(palette, scale);
  const faded = only === undefined ? inks : fadedInks(inks, palette.faded, FADE);
  const half = only === undefined ? inks : fadedInks(inks, palette.faded, HALF_FADE);
  const inksIn = { all: inks, some: half, none: faded } as const;
  const factor = scale.high > scale.low ? (STEPS - 1) / (scale.high - scale.low) : 0;
  const middle = factor === 0 ? STEPS / 2 : 0;
  for (let i = 0; i < pixels.length; i++) {
    const kind = grid.kinds[i] ?? 0;
    const ink = only === undefined ? inks : inksIn[shareIn(grid, i, kind, only)];
    if (kind & NAN) pixels[i] = ink.nan;
    else if (kind & POS_INF) pixels[i] = ink.posInf;
    else if (kind & NEG_INF) pixels[i] = ink.negInf;
    else {
      const step = middle + ((grid.mean[i] ?? 0) - scale.low) * factor;
      pixels[i] = ink.steps[Math.max(0, Math.min(STEPS - 1, Math.round(step)))] ?? 0;
    }
  }
  return new Uint8ClampedArray(pixels.buffer);
}

/** Whether all elements of a tile are in a range, none, or perhaps some. */
export function shareIn(grid: Grid, i: number, kind: number, range: NumberRange): "all" | "some" | "none" {
  if (!meets(grid, i, kind, range)) return "none";
  const { low, high } = range;
  const isOut =
    (kind & NAN) !== 0 ||
    ((kind & POS_INF) !== 0 && high !== Number.POSITIVE_INFINITY) ||
    ((kind & NEG_INF) !== 0 && low !== Number.NEGATIVE_INFINITY) ||
    ((kind & FINITE) !== 0 && ((grid.min[i] ?? 0) < low || (grid.max[i] ?? 0) > high));
  return isOut ? "some" : "all";
}

/** Whether a tile holds an element of a range; for a tile of several elements, whether it may. */
function meets(grid: Grid, i: number, kind: number, { low, high }: NumberRange): boolean {
  if (kind & POS_INF && high === Number.POSITIVE_INFINITY) return true;
  if (kind & NEG_INF && low === Number.NEGATIVE_INFINITY) return true;
  if ((kind & FINITE) === 0) return false;
  return (grid.min[i] ?? Number.NaN) <= high && (grid.max[i] ?? Number.NaN) >= low;
}

interface Inks {
  readonly steps: Uint32Array;
  readonly nan: number;
  readonly posInf: number;
  readonly negInf: number;
}

function inksOf(palette: Palette, { isDiverging }: Scale): Inks {
  const stops = isDiverging ? palette.diverging : palette.sequential;
  return {
    steps: Uint32Array.from({ length: STEPS }, (_, i) => packed(between(stops, i / (STEPS - 1)))),
    nan: packed(palette.nan),
    posInf: packed(palette.posInf),
    negInf: packed(palette.negInf),
  };
}

function fadedInks({ steps, nan, posInf, negInf }: Inks, to: Rgb, share: number): Inks {
  const fade = (ink: number) => packed(mixed(unpacked(ink), to, share));
  return { steps: steps.map(fade), nan: fade(nan), posInf: fade(posInf), negInf: fade(negInf) };
}

/** The colour at a share of the way along the stops. */
export function between(stops: readonly Rgb[], share: number): Rgb {
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1);
  const left = stops[Math.floor(at)] ?? [0, 0, 0];
  const right = stops[Math.ceil(at)] ?? left;
  return mixed(left, right, at - Math.floor(at));
}

function mixed(a: Rgb, b: Rgb, share: number): Rgb {
  const mix = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * share);
  return [mix(0), mix(1), mix(2)];
}

/** An opaque colour as the bytes of a little-endian number. */
function packed([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

function unpacked(ink: number): Rgb {
  return [ink & 255, (ink >> 8) & 255, (ink >> 16) & 255];
}

/** "#1d2329", "#fff" or "rgb(29, 35, 41)" -> [29, 35, 41]. */
export function rgbOf(text: string): Rgb {
  const short = /^#([\da-f])([\da-f])([\da-f])$/i.exec(text.trim());
  const long = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(text.trim());
  const hex = short?.slice(1).map((digit) => digit + digit) ?? long?.slice(1);
  const numbers = hex?.map((part) => Number.parseInt(part, 16)) ?? text.match(/\d+(\.\d+)?/g)?.map(Number);
  const [r = 0, g = 0, b = 0] = numbers ?? [];
  return [r, g, b];
}
