/**
 * Draws a vector as a curve. Tiles of several elements are a band from their smallest to their largest, with
 * the mean in it. NaN and infinities, which have no height, are marks at the lower and upper edge.
 */
import { significant } from "../../base/text";
import { FINITE, NAN, NEG_INF, type NumberRange, POS_INF } from "../../model/values/grid";
import type { Layer, Scene } from "./scene";

/** The space of the marks at the upper and lower edge. */
const EDGE = 9;
const MARK = 7;

export function drawCurve(scene: Scene): void {
  const range = padded(scene.picture.range);
  const layers = scene.isWhole && scene.layers.length > 1 ? finest(scene.layers) : scene.layers.slice(0, 1);
  drawRange(scene, range);
  drawZero(scene, range);
  for (const layer of layers) {
    drawBand(scene, layer, range);
    drawMeans(scene, layer, range);
    drawMarks(scene, layer);
  }
  drawEnds(scene);
  drawFocus(scene);
}

function finest(layers: readonly Layer[]): readonly Layer[] {
  const least = Math.min(...layers.map(({ grid }) => grid.tileColumns));
  return layers.filter(({ grid }) => grid.tileColumns === least);
}

function padded(range: NumberRange | undefined): NumberRange {
  const { low, high } = range ?? { low: 0, high: 0 };
  const pad = high > low ? 0 : Math.max(1e-9, Math.abs(low) * 0.1);
  return { low: low - pad, high: high + pad };
}

function heightOf({ place }: Scene, { low, high }: NumberRange, value: number): number {
  const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return EDGE + (1 - share) * (place.height - 2 * EDGE);
}

/** The range that is highlighted, as a band. */
function drawRange(scene: Scene, range: NumberRange): void {
  const { context, only, place, inks } = scene;
  if (only === undefined) return;
  const [top, bottom] = [heightOf(scene, range, only.high), heightOf(scene, range, only.low)];
  context.fillStyle = inks.range;
  context.fillRect(0, top, place.width, Math.max(1, bottom - top));
}

/** Zero as a line. */
function drawZero(scene: Scene, range: NumberRange): void {
  const { context, place, inks } = scene;
  if (range.low >= 0 || range.high <= 0) return;
  context.strokeStyle = inks.line;
  context.lineWidth = 1;
  const zero = Math.round(heightOf(scene, range, 0)) + 0.5;
  context.beginPath();
  context.moveTo(0, zero);
  context.lineTo(place.width, zero);
  context.stroke();
}

/** The numbers at the ends of the axis, on a ground of their own. */
function drawEnds({ context, place, inks, picture: { range } }: Scene): void {
  if (range === undefined) return;
  context.font = `11px ${getComputedStyle(context.canvas).fontFamily}`;
  context.textAlign = "left";
  context.textBaseline = "top";
  const draw = (value: number, top: number) => {
    const text = significant(value);
    context.fillStyle = `rgb(${inks.faded.join(" ")})`;
    context.fillRect(0, top, context.measureText(text).width + 6, 14);
    context.fillStyle = inks.text;
    context.fillText(text, 3, top + 2);
  };
  draw(range.high, EDGE);
  if (range.high > range.low) draw(range.low, place.height - EDGE - 14);
}

/** The middle of a tile, in pixels. */
function middleOf({ view }: Scene, { grid, column }: Layer, tile: number): number {
  const end = Math.min(grid.width, (tile + 1) * grid.tileColumns);
  return (column + (tile * grid.tileColumns + end) / 2 - view.left) * view.scaleX;
}

/** From the smallest to the largest element of each tile. */
function drawBand(scene: Scene, layer: Layer, range: NumberRange): void {
  const { grid } = layer;
  if (grid.tileColumns === 1) return;
  const { context, view, inks } = scene;
  context.fillStyle = inks.envelope;
  const width = Math.max(1, grid.tileColumns * view.scaleX);
  for (let i = 0; i < grid.columns; i++) {
    if (((grid.kinds[i] ?? 0) & FINITE) === 0) continue;
    const top = heightOf(scene, range, grid.max[i] ?? 0);
    const bottom = heightOf(scene, range, grid.min[i] ?? 0);
    context.fillRect(middleOf(scene, layer, i) - width / 2, top - 0.5, width, bottom - top + 1);
  }
}

function drawMeans(scene: Scene, layer: Layer, range: NumberRange): void {
  const { context, view, inks } = scene;
  const { grid } = layer;
  const isDotted = grid.tileColumns * view.scaleX > 5;
  context.strokeStyle = inks.curve;
  context.fillStyle = inks.curve;
  context.lineWidth = 1.5;
  context.beginPath();
  let isBroken = true;
  for (let i = 0; i < grid.columns; i++) {
    const hasFinite = ((grid.kinds[i] ?? 0) & FINITE) !== 0;
    const [x, y] = [middleOf(scene, layer, i), heightOf(scene, range, grid.mean[i] ?? 0)];
    if (!hasFinite) isBroken = true;
    else if (isBroken) context.moveTo(x, y);
    else context.lineTo(x, y);
    if (hasFinite) isBroken = false;
    if (hasFinite && isDotted) context.fillRect(x - 2, y - 2, 4, 4);
  }
  context.stroke();
}

const MARKS = [
  { bit: POS_INF, ink: "posInf", isAtTop: true },
  { bit: NEG_INF, ink: "negInf", isAtTop: false },
  { bit: NAN, ink: "nan", isAtTop: false },
] as const;

function drawMarks(scene: Scene, layer: Layer): void {
  const { context, place, inks, view } = scene;
  const { grid } = layer;
  const width = Math.max(2, Math.min(MARK, grid.tileColumns * view.scaleX));
  for (const { bit, ink, isAtTop } of MARKS) {
    context.fillStyle = `rgb(${inks[ink].join(" ")})`;
    for (let i = 0; i < grid.columns; i++)
      if ((grid.kinds[i] ?? 0) & bit)
        context.fillRect(
          middleOf(scene, layer, i) - width / 2,
          isAtTop ? 0 : place.height - MARK,
          width,
          MARK,
        );
  }
}

/** A line through the element in focus. */
function drawFocus({ context, view, cell, inks, place }: Scene): void {
  if (cell === undefined) return;
  context.strokeStyle = inks.focus;
  context.lineWidth = 1;
  const x = Math.round((cell.column + 0.5 - view.left) * view.scaleX) + 0.5;
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x, place.height);
  context.stroke();
}
