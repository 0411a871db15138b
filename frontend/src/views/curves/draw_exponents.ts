/** Draws the map of exponents on a canvas: a cell for each row and column, and the axes. */
import type { ExponentMap } from "../../api/curves";
import type { AxisName } from "../../model/curves";
import { columnWords, type MapRow, numColumns, shareAt, strengthOf } from "../../model/exponents";
import { between, type Rgb } from "../../model/values/colours";
import type { Inks } from "../values/palette";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

export interface Drawn {
  readonly map: ExponentMap;
  readonly rows: readonly MapRow[];
  readonly axis: AxisName;
  /** The column of the computation in focus. */
  readonly now: number | undefined;
  /** The cell that is pointed at. */
  readonly cell: Cell | undefined;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Room for the words of the rows and of the columns, and around the cells. */
const [LEFT, BOTTOM, RIGHT, TOP] = [112, 18, 6, 3];
/** Rows of bad values are apart from the others, and so is that of 0. */
const GAP = 3;
/** The size of texts; those of low rows are smaller. */
const [TEXT, LEAST_TEXT] = [11, 9];

/** Where a row begins and ends: rows are equally high. */
function rowBox(size: Size, rows: number, row: number): { readonly top: number; readonly height: number } {
  const room = size.height - TOP - BOTTOM - 2 * GAP;
  const gaps = TOP + (row >= 3 ? GAP : 0) + (row === rows - 1 ? GAP : 0);
  const [top, end] = [Math.round((room * row) / rows), Math.round((room * (row + 1)) / rows)];
  return { top: top + gaps, height: end - top };
}

function columnBox(size: Size, columns: number, column: number) {
  const room = size.width - LEFT - RIGHT;
  const [left, end] = [Math.round((room * column) / columns), Math.round((room * (column + 1)) / columns)];
  return { left: LEFT + left, width: Math.max(1, end - left) };
}

/** The cell at a point; undefined outside of the cells. */
export function cellAt(size: Size, rows: number, columns: number, x: number, y: number): Cell | undefined {
  const column = Math.floor(((x - LEFT) / (size.width - LEFT - RIGHT)) * columns);
  const isInside = x >= LEFT && column < columns && y < size.height - BOTTOM;
  if (!isInside) return undefined;
  for (let row = 0; row < rows; row++) {
    const { top, height } = rowBox(size, rows, row);
    if (y < top + height) return { row, column };
  }
  return { row: rows - 1, column };
}

export function drawExponents(canvas: HTMLCanvasElement, drawn: Drawn, size: Size, inks: Inks): void {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(size.width * scale);
  canvas.height = Math.round(size.height * scale);
  canvas.style.width = `${size.width}px`;
  canvas.style.height = `${size.height}px`;
  const context = canvas.getContext("2d");
  if (context === null || size.width <= LEFT + RIGHT || size.height <= BOTTOM) return;
  context.scale(scale, scale);
  drawCells(context, drawn, size, inks);
  drawRowNames(context, drawn, size, inks);
  drawColumnNames(context, drawn, size, inks);
  drawMarks(context, drawn, size, inks);
}

function css([r, g, b]: Rgb): string {
  return `rgb(${r} ${g} ${b})`;
}

/** The colours of the least share, between that of nothing and that of all: they differ from nothing. */
const [FAINT, FAINT_BAD] = [0.2, 0.45];

function colourOf({ kind, name }: MapRow, strength: number, inks: Inks): Rgb {
  if (kind !== "nan" && kind !== "infinity") return numberColour(strength, inks);
  const full = kind === "nan" ? inks.nan : name === "pos_inf" ? inks.posInf : inks.negInf;
  return between([inks.faded, full], FAINT_BAD + (1 - FAINT_BAD) * strength);
}

function numberColour(strength: number, { sequential }: Inks): Rgb {
  return between(sequential, FAINT + (1 - FAINT) * strength);
}

/** The colours of numbers from the least share to all, as a CSS background. */
export function scaleOf(inks: Inks): string {
  const stops = [0, 0.25, 0.5, 0.75, 1].map((strength) => css(numberColour(strength, inks)));
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

function drawCells(context: CanvasRenderingContext2D, { map, rows }: Drawn, size: Size, inks: Inks): void {
  const columns = numColumns(map);
  rows.forEach((row, i) => {
    const { top, height } = rowBox(size, rows.length, i);
    context.fillStyle = inks.raised;
    context.fillRect(LEFT, top, size.width - LEFT - RIGHT, height);
    for (let column = 0; column < columns; column++) {
      const strength = strengthOf(shareAt(map, row, column));
      if (strength === undefined) continue;
      const { left, width } = columnBox(size, columns, column);
      context.fillStyle = css(colourOf(row, strength, inks));
      context.fillRect(left, top, width, height);
    }
  });
}

/** The names of the rows; where they are too low, of as many as have room. */
function drawRowNames(context: CanvasRenderingContext2D, { rows }: Drawn, size: Size, inks: Inks): void {
  context.textAlign = "right";
  context.textBaseline = "middle";
  const last = rows.length - 1;
  const text = Math.max(LEAST_TEXT, Math.min(TEXT, Math.floor(size.height / rows.length)));
  context.font = fontOf(context, text);
  let free = -text;
  const bottom = middleOf(size, rows.length, last) - text;
  rows.forEach((row, i) => {
    const middle = middleOf(size, rows.length, i);
    if (i !== last && (middle - text / 2 < free || middle > bottom)) return;
    free = middle + text / 2 - 2;
    context.fillStyle = row.kind === "nan" || row.kind === "infinity" ? inks.bad : inks.text;
    context.fillText(row.kind === "denormal" ? `${row.title} *` : row.title, LEFT - 6, middle);
  });
}

function fontOf({ canvas }: CanvasRenderingContext2D, size: number): string {
  return `${size}px ${getComputedStyle(canvas).fontFamily}`;
}

function middleOf(size: Size, rows: number, row: number): number {
  const { top, height } = rowBox(size, rows, row);
  return top + height / 2;
}

function drawColumnNames(context: CanvasRenderingContext2D, drawn: Drawn, size: Size, inks: Inks): void {
  const columns = numColumns(drawn.map);
  context.font = fontOf(context, TEXT);
  context.fillStyle = inks.dim;
  context.textBaseline = "bottom";
  const words = (column: number) => columnWords(drawn.map, drawn.axis, column).replace(/ and .* more$/, "");
  context.textAlign = "left";
  context.fillText(words(0), LEFT, size.height - 2);
  if (columns === 1) return;
  context.textAlign = "right";
  context.fillText(words(columns - 1), size.width - RIGHT, size.height - 2);
}

/** The column in focus and the cell that is pointed at. */
function drawMarks(context: CanvasRenderingContext2D, drawn: Drawn, size: Size, inks: Inks): void {
  const { map, rows, now, cell } = drawn;
  context.strokeStyle = inks.focus;
  context.lineWidth = 2;
  if (now !== undefined) {
    const { left, width } = columnBox(size, numColumns(map), now);
    context.strokeRect(left, 1, Math.max(3, width), size.height - BOTTOM - 2);
  }
  if (cell === undefined) return;
  const { left, width } = columnBox(size, numColumns(map), cell.column);
  const { top, height } = rowBox(size, rows.length, cell.row);
  context.strokeStyle = inks.text;
  context.lineWidth = 1;
  context.strokeRect(left - 0.5, top - 0.5, Math.max(3, width) + 1, height + 1);
}
