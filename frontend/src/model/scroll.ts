/**
 * The arithmetic of a list that is taller than the tallest element of a browser (17.9 million pixels in
 * Firefox).
 *
 * There are two measures. In *virtual* pixels, row i is at i * rowHeight. *Physical* pixels are the scrollTop
 * of an element that is never taller than MAX_SPACER. The scrollbar maps one to the other linearly. The wheel
 * and the keys move in virtual pixels, so that a notch of the wheel is the same few rows in every list.
 */
export const MAX_SPACER = 15e6;

export interface ScrollLayout {
  readonly rows: number;
  readonly rowHeight: number;
  /** Height of the visible part of the rows, in pixels. */
  readonly viewport: number;
}

/** Height of the element that gives the scrollbar its length. */
export function spacer(layout: ScrollLayout): number {
  return Math.min(layout.rows * layout.rowHeight, MAX_SPACER);
}

export function maxVirtual(layout: ScrollLayout): number {
  return Math.max(0, layout.rows * layout.rowHeight - layout.viewport);
}

export function maxPhysical(layout: ScrollLayout): number {
  return Math.max(0, spacer(layout) - layout.viewport);
}

export function clampVirtual(layout: ScrollLayout, virtual: number): number {
  return Math.min(Math.max(0, virtual), maxVirtual(layout));
}

export function toVirtual(layout: ScrollLayout, physical: number): number {
  const most = maxPhysical(layout);
  return most === 0 ? 0 : clampVirtual(layout, (physical / most) * maxVirtual(layout));
}

export function toPhysical(layout: ScrollLayout, virtual: number): number {
  const most = maxVirtual(layout);
  return most === 0 ? 0 : (clampVirtual(layout, virtual) / most) * maxPhysical(layout);
}

/** Rows that are visible, if only by a pixel: from `begin` up to, but without, `end`. */
export function visibleRows(layout: ScrollLayout, virtual: number): { begin: number; end: number } {
  const begin = Math.floor(virtual / layout.rowHeight);
  const end = Math.ceil((virtual + layout.viewport) / layout.rowHeight);
  return { begin: Math.min(begin, layout.rows), end: Math.min(end, layout.rows) };
}

/**
 * The scroll position that shows the row: the same if it is visible, else with a third of the view above it.
 */
export function reveal(layout: ScrollLayout, virtual: number, row: number): number {
  const top = row * layout.rowHeight;
  const seen = top >= virtual && top + layout.rowHeight <= virtual + layout.viewport;
  const above = Math.floor((layout.viewport - layout.rowHeight) / 3 / layout.rowHeight);
  return seen ? virtual : clampVirtual(layout, top - above * layout.rowHeight);
}

/** The same for a step by key, with the least scrolling. */
export function nudge(layout: ScrollLayout, virtual: number, row: number): number {
  const top = row * layout.rowHeight;
  const lowest = top + layout.rowHeight - layout.viewport;
  return clampVirtual(layout, Math.min(top, Math.max(virtual, lowest)));
}
