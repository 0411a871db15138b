/**
 * A list of any number of rows of one height. Only the visible rows are in the document. A spacer gives the
 * scrollbar its length, and a sticky layer shows the rows; see model/scroll.ts for the two measures.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  clampVirtual,
  MAX_SPACER,
  nudge,
  reveal,
  type ScrollLayout,
  spacer,
  toPhysical,
  toVirtual,
  visibleRows,
} from "../model/scroll";
import { useSize } from "./hooks";

export interface VirtualListProps {
  readonly label: string;
  readonly id: string;
  readonly rows: number;
  /** Custom properties that the style sheet of the rows reads. */
  readonly style?: Readonly<Record<`--${string}`, string | number>>;
  readonly rowHeight: number;
  readonly headerHeight: number;
  readonly header?: ComponentChildren;
  /** The row in focus. */
  readonly focusRow: number | undefined;
  /** The row to bring into view when it or `revealKey` changes; usually the row in focus. */
  readonly revealRow: number | undefined;
  readonly revealKey: string;
  /** Draws a row; `attributes` are for its element. */
  readonly render: (row: number, attributes: RowAttributes) => ComponentChildren;
  readonly onVisible: (begin: number, end: number) => void;
  /** Called when a key moves to another row. */
  readonly onStep: (row: number) => void;
  /** Drawn beside the rows, with the visible range and a function that scrolls. */
  readonly beside?: (view: {
    begin: number;
    end: number;
    viewport: number;
    seek: (row: number) => void;
  }) => ComponentChildren;
}

export interface RowAttributes {
  readonly id: string;
  readonly "aria-rowindex": number;
  readonly style: { readonly transform: string; readonly height: string };
}

export function VirtualList(props: VirtualListProps) {
  const { rows, rowHeight, headerHeight, focusRow, revealRow } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const expected = useRef(0);
  const [requested, setRequested] = useState(0);
  const size = useSize(scroller);
  const layout: ScrollLayout = { rows, rowHeight, viewport: Math.max(0, size.height - headerHeight) };
  const virtual = clampVirtual(layout, requested);
  const { begin, end } = visibleRows(layout, virtual);
  const headRows = headerHeight > 0 ? 1 : 0;

  const moveTo = (to: number) => setRequested(clampVirtual(layout, to));
  const onScroll = () => {
    const physical = scroller.current?.scrollTop ?? 0;
    if (Math.abs(physical - expected.current) < 1) return;
    expected.current = physical;
    setRequested(toVirtual(layout, physical));
  };

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || layout.viewport === 0) return;
    const physical = toPhysical(layout, virtual);
    if (Math.abs(physical - element.scrollTop) < 1) return;
    element.scrollTop = physical;
    expected.current = element.scrollTop;
  }, [virtual, rows, layout.viewport]);

  const canReveal = revealRow !== undefined && revealRow < rows && layout.viewport > 0;
  useLayoutEffect(() => {
    if (canReveal) setRequested(reveal(layout, virtual, revealRow));
  }, [revealRow, props.revealKey, canReveal]);

  useEffect(() => props.onVisible(begin, end), [begin, end, rows]);

  // In a scaled list a notch of the wheel must be a few rows, not thousands. A listener that is not passive
  // cannot be an attribute.
  useEffect(() => {
    const element = scroller.current;
    if (element === null || rows * rowHeight <= MAX_SPACER) return;
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.deltaY === 0) return;
      event.preventDefault();
      const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? rowHeight : layout.viewport;
      setRequested((old) => clampVirtual(layout, old + event.deltaY * unit));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [rows, layout.viewport]);

  const onKey = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(layout.viewport / rowHeight) - 1);
    const from = focusRow ?? begin - 1;
    const to = {
      ArrowUp: from - 1,
      ArrowDown: from + 1,
      PageUp: from - page,
      PageDown: from + page,
      Home: 0,
      End: rows - 1,
    }[event.key];
    if (to === undefined || rows === 0) return;
    event.preventDefault();
    const row = Math.max(0, Math.min(rows - 1, to));
    moveTo(nudge(layout, virtual, row));
    props.onStep(row);
  };

  const attributesOf = (row: number): RowAttributes => ({
    id: `${props.id}-${row}`,
    "aria-rowindex": row + 1 + headRows,
    style: {
      transform: `translateY(${headerHeight + row * rowHeight - virtual}px)`,
      height: `${rowHeight}px`,
    },
  });
  const inView = focusRow !== undefined && focusRow >= begin && focusRow < end;
  return (
    <div class="list-frame" style={props.style}>
      <div
        ref={scroller}
        class="list"
        role="grid"
        aria-label={props.label}
        aria-rowcount={rows + headRows}
        aria-activedescendant={inView ? `${props.id}-${focusRow}` : undefined}
        tabIndex={0}
        onScroll={onScroll}
        onKeyDown={onKey}
      >
        <div role="presentation" style={{ height: `${spacer(layout) + headerHeight}px` }}>
          <div class="list-layer" role="presentation" style={{ height: `${size.height}px` }}>
            <div class="list-rows" role="rowgroup">
              {Array.from({ length: end - begin }, (_, i) =>
                props.render(begin + i, attributesOf(begin + i)),
              )}
            </div>
            {props.header !== undefined && (
              <div class="list-header" role="rowgroup" style={{ height: `${headerHeight}px` }}>
                {props.header}
              </div>
            )}
          </div>
        </div>
      </div>
      {props.beside?.({
        begin,
        end,
        viewport: layout.viewport,
        seek: (row) => moveTo(row * rowHeight - layout.viewport / 2),
      })}
    </div>
  );
}
