/** Draws a matrix as a heat map: each tile is a rectangle of its colour. */
import { shortNumber } from "../../base/text";
import { between, paint, type Rgb, type Scale, scaleOf } from "../../model/values/colours";
import {
  type Grid,
  merged,
  mergeFactor,
  NAN,
  NEG_INF,
  type NumberRange,
  POS_INF,
} from "../../model/values/grid";
import { NUMBER_CELL, seen } from "../../model/values/levels";
import type { Inks } from "./palette";
import { areaOf, elementAt, type Layer, type Scene } from "./scene";

export function drawMap(scene: Scene): void {
  const { context } = scene;
  context.imageSmoothingEnabled = false;
  for (const layer of scene.layers) drawLayer(scene, layer);
  const { scaleX, scaleY } = scene.view;
  if (scaleX >= NUMBER_CELL.width && scaleY >= NUMBER_CELL.height) drawNumbers(scene);
  drawCell(scene);
}

/** The visible tiles of a grid. The last tiles may be cut off. */
function drawLayer(scene: Scene, { grid: whole, row, column }: Layer): void {
  const { context, view, place } = scene;
  const down = mergeFactor(whole.tileRows, view.scaleY);
  const across = mergeFactor(whole.tileColumns, view.scaleX);
  const painted = imageOf(scene, whole, down, across);
  const { image, grid } = painted;
  const x = part(view.left - column, place.width / view.scaleX, grid.tileColumns, grid.width);
  const y = part(view.top - row, place.height / view.scaleY, grid.tileRows, grid.height);
  if (x.length <= 0 || y.length <= 0) return;
  context.drawImage(
    image,
    x.from / grid.tileColumns,
    y.from / grid.tileRows,
    x.length / grid.tileColumns,
    y.length / grid.tileRows,
    (column + x.from - view.left) * view.scaleX,
    (row + y.from - view.top) * view.scaleY,
    x.length * view.scaleX,
    y.length * view.scaleY,
  );
  if (painted.grid.tileColumns * view.scaleX < SMALL || painted.grid.tileRows * view.scaleY < SMALL)
    drawBad(scene, painted, row, column);
}

/** Tiles with fewer pixels than this are hard to see alone. */
const SMALL = 4;
/** So many bad tiles are seen without help. */
const MOST_BAD = 2000;

/** Bad elements in a picture of tiny tiles: larger than they are, so that one is seen. */
function drawBad({ context, view, inks }: Scene, { grid, bad }: Painted, row: number, column: number): void {
  const [height, width] = [grid.tileRows * view.scaleY, grid.tileColumns * view.scaleX];
  const size = { width: Math.max(SMALL, width), height: Math.max(SMALL, height) };
  for (const i of bad) {
    const x = (column - view.left) * view.scaleX + ((i % grid.columns) + 0.5) * width - size.width / 2;
    const y =
      (row - view.top) * view.scaleY + (Math.floor(i / grid.columns) + 0.5) * height - size.height / 2;
    context.fillStyle = `rgb(${badInk(grid.kinds[i] ?? 0, inks).join(" ")})`;
    context.fillRect(x, y, size.width, size.height);
  }
}

function badInk(kind: number, inks: Inks): Rgb {
  if (kind & NAN) return inks.nan;
  return kind & POS_INF ? inks.posInf : inks.negInf;
}

/** The tiles that hold a NaN or an infinity; none when there are many. */
function badTiles({ kinds }: Grid): readonly number[] {
  const bad: number[] = [];
  for (let i = 0; i < kinds.length; i++) {
    if (((kinds[i] ?? 0) & (NAN | POS_INF | NEG_INF)) !== 0) bad.push(i);
    if (bad.length > MOST_BAD) return [];
  }
  return bad;
}

/** The elements of a grid that are seen, from the beginning of a tile to the end of one. */
function part(offset: number, visible: number, tile: number, length: number) {
  const from = Math.max(0, Math.floor(offset / tile) * tile);
  const to = Math.min(length, Math.ceil((offset + visible) / tile) * tile);
  return { from, length: to - from };
}

interface Painted {
  readonly image: HTMLCanvasElement;
  readonly grid: Grid;
  readonly bad: readonly number[];
  readonly inks: Inks;
  readonly scale: Scale;
  readonly only: NumberRange | undefined;
  readonly factors: string;
}

/** The last picture of each grid; it is dropped with the grid. */
const PAINTED = new WeakMap<Grid, Painted>();

function imageOf({ picture, inks, only }: Scene, whole: Grid, down: number, across: number): Painted {
  const factors = `${down} ${across}`;
  const scale = scaleOf(picture.range);
  const known = PAINTED.get(whole);
  const isSame =
    known?.factors === factors &&
    known.inks === inks &&
    known.only === only &&
    known.scale.low === scale.low &&
    known.scale.high === scale.high;
  if (isSame) return known;
  const grid = merged(whole, down, across);
  const image = known?.image ?? document.createElement("canvas");
  [image.width, image.height] = [Math.max(1, grid.columns), Math.max(1, grid.rows)];
  const pixels = paint(grid, scale, inks, only);
  if (pixels.length > 0)
    image.getContext("2d")?.putImageData(new ImageData(pixels, grid.columns, grid.rows), 0, 0);
  const painted = { image, grid, bad: badTiles(grid), inks, scale, only, factors };
  PAINTED.set(whole, painted);
  return painted;
}

/** The numbers of cells that have room for them. */
function drawNumbers(scene: Scene): void {
  const { context, view, place, picture, layers } = scene;
  const { rows, columns } = seen(view, areaOf(picture), place);
  const scale = scaleOf(picture.range);
  context.font = `11px ${getComputedStyle(context.canvas).fontFamily}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = rows.begin; row < rows.end; row++)
    for (let column = columns.begin; column < columns.end; column++) {
      const value = elementAt(layers, { row, column });
      if (value === undefined) continue;
      context.fillStyle = inkOn(value, scale, scene.inks);
      const x = (column + 0.5 - view.left) * view.scaleX;
      context.fillText(shortNumber(value), x, (row + 0.5 - view.top) * view.scaleY, view.scaleX - 4);
    }
}

/** Black or white, whichever is easier to read on the colour of a value. */
function inkOn(value: number, { low, high, isDiverging }: Scale, inks: Inks): string {
  const stops = isDiverging ? inks.diverging : inks.sequential;
  const share = high > low ? (value - low) / (high - low) : 0.5;
  const finite = between(stops, Number.isFinite(share) ? share : 0.5);
  const [r, g, b] = Number.isNaN(value)
    ? inks.nan
    : Number.isFinite(value)
      ? finite
      : value > 0
        ? inks.posInf
        : inks.negInf;
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000" : "#fff";
}

/** A frame around the element in focus. */
function drawCell({ context, view, cell, inks }: Scene): void {
  if (cell === undefined) return;
  const [width, height] = [Math.max(5, view.scaleX), Math.max(5, view.scaleY)];
  const x = (cell.column + 0.5 - view.left) * view.scaleX - width / 2;
  const y = (cell.row + 0.5 - view.top) * view.scaleY - height / 2;
  context.lineWidth = 2;
  context.strokeStyle = inks.focus;
  context.strokeRect(x, y, width, height);
}
