/**
 * What of a slice is seen, and in which detail it is drawn.
 *
 * A slice is drawn as a coarse grid of the whole, and above it blocks of finer tiles where it is seen. Rows
 * and columns have a level each: at level n, a tile is 2^n elements long, and a block is BLOCK tiles long.
 */
import type { Span } from "./slicing";

export const BLOCK = 256;
/** Cells of this size have room for their numbers. */
export const NUMBER_CELL = { width: 52, height: 17 } as const;
const LARGEST_CELL = 96;
const LARGEST_FIRST_CELL = 56;

/** A size in pixels or in elements. */
export interface Area {
  readonly width: number;
  readonly height: number;
}

/** The element at the left top corner, and the pixels of an element. */
export interface View {
  readonly left: number;
  readonly top: number;
  readonly scaleX: number;
  readonly scaleY: number;
}

export interface Block {
  /** Unlike that of other blocks. */
  readonly key: string;
  readonly rows: Span;
  readonly columns: Span;
}

/** A picture of rows and columns, or a curve of one row, whose height is that of its place. */
export type Kind = "map" | "curve";

/**
 * The view of a whole slice. The elements of a map are square, unless the map would be much narrower than its
 * place.
 */
export function fitted(kind: Kind, slice: Area, place: Area): View {
  if (kind === "curve")
    return { left: 0, top: 0, scaleX: place.width / Math.max(1, slice.width), scaleY: place.height };
  const [x, y] = [place.width / Math.max(1, slice.width), place.height / Math.max(1, slice.height)];
  const isLong = x / y > 3 || y / x > 3;
  const cap = (scale: number) => Math.min(LARGEST_FIRST_CELL, scale);
  const [scaleX, scaleY] = isLong ? [cap(x), cap(y)] : [cap(Math.min(x, y)), cap(Math.min(x, y))];
  return centred({ left: 0, top: 0, scaleX, scaleY }, slice, place);
}

/** The view moved so that no space is wasted; a slice that is smaller than its place begins at the left. */
export function centred(view: View, slice: Area, place: Area): View {
  const clip = (at: number, length: number, seen: number) =>
    Math.min(Math.max(0, at), Math.max(0, length - seen));
  return {
    ...view,
    left: clip(view.left, slice.width, place.width / view.scaleX),
    top: clip(view.top, slice.height, place.height / view.scaleY),
  };
}

/** Zooms by a factor around a point of the place, from the whole slice up to a few large cells. */
export function zoomed(
  kind: Kind,
  view: View,
  factor: number,
  at: { readonly x: number; readonly y: number },
  slice: Area,
  place: Area,
): View {
  const whole = fitted(kind, slice, place);
  const least = kind === "map" ? Math.max(whole.scaleX / view.scaleX, whole.scaleY / view.scaleY) : 0;
  const largest = kind === "map" ? Math.max(view.scaleX, view.scaleY) : view.scaleX;
  const by = Math.max(least, Math.min(Math.max(1, LARGEST_CELL / largest), factor));
  const scaleX = Math.max(whole.scaleX, view.scaleX * by);
  const scaleY = kind === "map" ? view.scaleY * by : whole.scaleY;
  const left = view.left + at.x / view.scaleX - at.x / scaleX;
  const top = view.top + at.y / view.scaleY - at.y / scaleY;
  return centred({ left, top, scaleX, scaleY }, slice, place);
}

export function panned(view: View, x: number, y: number, slice: Area, place: Area): View {
  const moved = { ...view, left: view.left + x / view.scaleX, top: view.top + y / view.scaleY };
  return centred(moved, slice, place);
}

/** The view moved by as little as needed to show a cell. */
export function showing(view: View, row: number, column: number, slice: Area, place: Area): View {
  const nudge = (from: number, at: number, seen: number) => Math.min(at, Math.max(from, at + 1 - seen));
  const left = nudge(view.left, column, place.width / view.scaleX);
  const top = nudge(view.top, row, place.height / view.scaleY);
  return centred({ ...view, left, top }, slice, place);
}

/** The rows and columns that are seen, if only in part. */
export function seen(view: View, slice: Area, place: Area): { rows: Span; columns: Span } {
  const span = (from: number, pixels: number, scale: number, length: number): Span => ({
    begin: Math.max(0, Math.floor(from)),
    end: Math.min(length, Math.ceil(from + pixels / scale)),
  });
  return {
    rows: span(view.top, place.height, view.scaleY, slice.height),
    columns: span(view.left, place.width, view.scaleX, slice.width),
  };
}

/** The finest level whose tiles are at least a pixel long. */
export function levelFor(scale: number): number {
  return Math.max(0, Math.ceil(Math.log2(1 / scale)));
}

/**
 * The blocks that are seen, those in the middle first; none when the coarse grid, whose tiles are `coarse`
 * elements, is as fine. They are `back` levels coarser than the view needs.
 */
export function blocksOf(view: View, slice: Area, place: Area, coarse: Area, back = 0): readonly Block[] {
  const [down, across] = [levelFor(view.scaleY) + back, levelFor(view.scaleX) + back];
  if (2 ** down >= coarse.height && 2 ** across >= coarse.width) return [];
  const { rows, columns } = seen(view, slice, place);
  const away = (block: Block) =>
    Math.abs(middle(block.rows) - middle(rows)) + Math.abs(middle(block.columns) - middle(columns));
  return spansOf(rows, BLOCK * 2 ** down, slice.height)
    .flatMap((r) =>
      spansOf(columns, BLOCK * 2 ** across, slice.width).map((c) => ({
        key: `${down}.${across}/${r.begin}/${c.begin}`,
        rows: r,
        columns: c,
      })),
    )
    .sort((a, b) => away(a) - away(b));
}

/** The spans of one size that meet another span, cut at the length of the whole. */
export function spansOf({ begin, end }: Span, size: number, length: number): readonly Span[] {
  const first = Math.floor(begin / size);
  const last = Math.ceil(Math.min(end, length) / size);
  return Array.from({ length: Math.max(0, last - first) }, (_, i) => ({
    begin: (first + i) * size,
    end: Math.min(length, (first + i + 1) * size),
  }));
}

function middle({ begin, end }: Span): number {
  return (begin + end) / 2;
}

/** The cell at a point of the place; undefined outside of the slice. */
export function cellAt(
  view: View,
  x: number,
  y: number,
  slice: Area,
): { readonly row: number; readonly column: number } | undefined {
  const [row, column] = [Math.floor(view.top + y / view.scaleY), Math.floor(view.left + x / view.scaleX)];
  return row >= 0 && column >= 0 && row < slice.height && column < slice.width ? { row, column } : undefined;
}
