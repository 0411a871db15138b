/** The window of boxes that the timeline shows, and the positions of rows along a minimap. */

export interface Window {
  readonly begin: number;
  readonly end: number;
}

/** The window of `fit` boxes from `begin`, moved so that it stays within the list. */
export function windowAt(begin: number, fit: number, total: number): Window {
  const first = Math.max(0, Math.min(Math.round(begin), total - fit));
  return { begin: first, end: Math.min(total, first + Math.max(0, fit)) };
}

/** The window if `index` is in it, else the window with `index` in the middle. */
export function windowAround(index: number, window: Window, fit: number, total: number): Window {
  if (index >= window.begin && index < window.end) return windowAt(window.begin, fit, total);
  return windowAt(index - Math.floor(fit / 2), fit, total);
}

/** The position of a row along a minimap, in pixels from its start. */
export function minimapPixel(row: number, total: number, length: number): number {
  return total === 0 ? 0 : (row / total) * length;
}

/** The row at a pixel of the minimap. */
export function minimapRow(pixel: number, total: number, length: number): number {
  if (length === 0 || total === 0) return 0;
  return Math.min(total - 1, Math.max(0, Math.floor((pixel / length) * total)));
}

export type MarkKind = "none" | "measured" | "bad";

/** One mark for each bucket. A bucket with a single bad row is bad. */
export function marks(bad: readonly number[], measured: readonly number[]): readonly MarkKind[] {
  return bad.map((n, i) => (n > 0 ? "bad" : (measured[i] ?? 0) > 0 ? "measured" : "none"));
}
