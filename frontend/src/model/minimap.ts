/** The window of boxes that the timeline shows, and the strips that show a whole list in a few hundred pixels. */

export interface Window {
  readonly begin: number;
  readonly end: number;
}

/** As many boxes as fit, never before the first nor (when there are enough) behind the last. */
export function windowAt(begin: number, fit: number, total: number): Window {
  const first = Math.max(0, Math.min(Math.round(begin), total - fit));
  return { begin: first, end: Math.min(total, first + Math.max(0, fit)) };
}

/** The window moved so that `index` is in it: not at all when it is, else with `index` in the middle. */
export function windowAround(index: number, window: Window, fit: number, total: number): Window {
  if (index >= window.begin && index < window.end) return windowAt(window.begin, fit, total);
  return windowAt(index - Math.floor(fit / 2), fit, total);
}

/** Where a row stands along a strip, in pixels from its start. */
export function minimapPixel(row: number, total: number, length: number): number {
  return total === 0 ? 0 : (row / total) * length;
}

/** The row under a pixel of the strip. */
export function minimapRow(pixel: number, total: number, length: number): number {
  if (length === 0 || total === 0) return 0;
  return Math.min(total - 1, Math.max(0, Math.floor((pixel / length) * total)));
}

export type MarkKind = "none" | "measured" | "bad";

/** One mark for each bucket: a single bad row makes its bucket bad, however many good ones are in it. */
export function marks(bad: readonly number[], measured: readonly number[]): readonly MarkKind[] {
  return bad.map((n, i) => (n > 0 ? "bad" : (measured[i] ?? 0) > 0 ? "measured" : "none"));
}
