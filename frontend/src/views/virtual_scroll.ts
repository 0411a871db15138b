/** The scroll position of a virtual list, in the virtual pixels of model/scroll.ts. */
import type { RefObject } from "preact";
import { type StateUpdater, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clampVirtual, MAX_SPACER, reveal, type ScrollLayout, toPhysical, toVirtual } from "../model/scroll";
import { type Size, useSize } from "./hooks";

type Scroller = RefObject<HTMLElement | null>;

export interface VirtualScroll {
  /** The size of the element that scrolls, with the header. */
  readonly size: Size;
  readonly layout: ScrollLayout;
  /** The position. */
  readonly virtual: number;
  readonly moveTo: (virtual: number) => void;
  /** To be called when the element has scrolled. */
  readonly onScroll: () => void;
}

export interface ScrollSizes {
  readonly rows: number;
  readonly rowHeight: number;
  readonly headerHeight: number;
}

/** Down a list, or across the columns of a table, whose widths are then the heights of rows. */
const DIRECTIONS = {
  down: { size: "height", position: "scrollTop", delta: "deltaY" },
  across: { size: "width", position: "scrollLeft", delta: "deltaX" },
} as const;
type Direction = (typeof DIRECTIONS)[keyof typeof DIRECTIONS];

/** Keeps the position and the scrollTop of an element equal. */
export function useVirtualScroll(
  scroller: Scroller,
  sizes: ScrollSizes,
  along: keyof typeof DIRECTIONS = "down",
): VirtualScroll {
  const direction = DIRECTIONS[along];
  const { rows, rowHeight, headerHeight } = sizes;
  const [requested, setRequested] = useState(0);
  const size = useSize(scroller);
  const layout = { rows, rowHeight, viewport: Math.max(0, size[direction.size] - headerHeight) };
  const virtual = clampVirtual(layout, requested);
  const takeScroll = useScrollTop(scroller, direction, layout, virtual);
  useWheel(scroller, direction, layout, setRequested);
  return {
    size,
    layout,
    virtual,
    moveTo: (to) => setRequested(clampVirtual(layout, to)),
    onScroll: () => {
      const physical = takeScroll();
      if (physical !== undefined) setRequested(toVirtual(layout, physical));
    },
  };
}

/**
 * Sets the scrollTop. Returns a function that gives the scrollTop if it is another one than was set, and
 * takes it as set.
 */
function useScrollTop(
  scroller: Scroller,
  { position }: Direction,
  layout: ScrollLayout,
  virtual: number,
): () => number | undefined {
  const expected = useRef(0);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    // While it is hidden, a browser may forget its position.
    if (layout.viewport === 0) {
      expected.current = Number.NaN;
      return;
    }
    const physical = toPhysical(layout, virtual);
    // Not the position of the element: to read it would make the browser lay out the page at once.
    if (Math.abs(physical - expected.current) < 1) return;
    element[position] = physical;
    expected.current = element[position];
  }, [virtual, layout.rows, layout.viewport]);
  return () => {
    const physical = scroller.current?.[position] ?? 0;
    if (Math.abs(physical - expected.current) < 1) return undefined;
    expected.current = physical;
    return physical;
  };
}

/**
 * In a scaled list a notch of the wheel must be a few rows, not thousands. A listener that is not passive
 * cannot be an attribute.
 */
function useWheel(
  scroller: Scroller,
  { delta }: Direction,
  layout: ScrollLayout,
  setRequested: (update: StateUpdater<number>) => void,
): void {
  const { rows, rowHeight, viewport } = layout;
  useEffect(() => {
    const element = scroller.current;
    if (element === null || rows * rowHeight <= MAX_SPACER) return;
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey || event[delta] === 0) return;
      event.preventDefault();
      const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? rowHeight : viewport;
      setRequested((old) => clampVirtual(layout, old + event[delta] * unit));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [rows, viewport]);
}

/** Brings a row into view when it or `key` changes. */
export function useReveal(scroll: VirtualScroll, row: number | undefined, key: string): void {
  const { layout, virtual, moveTo } = scroll;
  const canReveal = row !== undefined && row < layout.rows && layout.viewport > 0;
  useLayoutEffect(() => {
    if (canReveal) moveTo(reveal(layout, virtual, row));
  }, [row, key, canReveal]);
}
