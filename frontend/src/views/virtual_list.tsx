/**
 * A list of any number of rows of one height. Only the visible rows are in the document. A spacer gives the
 * scrollbar its length, and a sticky layer shows the rows; see model/scroll.ts for the two measures.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { rowOfKey } from "../model/keys";
import { nudge, spacer, visibleRows } from "../model/scroll";
import { useReveal, useVirtualScroll, type VirtualScroll } from "./virtual_scroll";

export interface VirtualListProps {
  readonly label: string;
  readonly id: string;
  /** Whether its rows have levels and can be opened. */
  readonly isTree?: boolean;
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
  /** Whether the row is brought into view also when the height of the list changes. */
  readonly isKeptInView?: boolean;
  /** Draws a row; `attributes` are for its element. */
  readonly render: (row: number, attributes: RowAttributes) => ComponentChildren;
  readonly onVisible: (begin: number, end: number) => void;
  /** Called when a key moves to another row. */
  readonly onStep: (row: number) => void;
  /** Called for other keys; returns whether the key did something. */
  readonly onKey?: (key: string) => boolean;
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
  const { rows, rowHeight, headerHeight, focusRow } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const scroll = useVirtualScroll(scroller, props);
  const { layout, virtual, moveTo } = scroll;
  const { begin, end } = visibleRows(layout, virtual);
  const height = props.isKeptInView === true ? layout.viewport : "";
  useReveal(scroll, props.revealRow, `${props.revealKey} ${height}`);
  useEffect(() => props.onVisible(begin, end), [begin, end, rows]);
  const inView = focusRow !== undefined && focusRow >= begin && focusRow < end;
  return (
    <div class="list-frame" style={props.style}>
      <div
        ref={scroller}
        class="list"
        role="grid"
        aria-label={props.label}
        aria-rowcount={rows + headRows(props)}
        aria-activedescendant={inView ? `${props.id}-${focusRow}` : undefined}
        tabIndex={0}
        {...(props.isTree && { role: "treegrid" })}
        onScroll={scroll.onScroll}
        onKeyDown={(event) => takeKey(event, props, scroll)}
      >
        <div role="presentation" style={{ height: `${spacer(layout) + headerHeight}px` }}>
          <Layer list={props} scroll={scroll} />
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

/** The visible rows, with the header above them. */
function Layer({ list, scroll }: { readonly list: VirtualListProps; readonly scroll: VirtualScroll }) {
  const { begin, end } = visibleRows(scroll.layout, scroll.virtual);
  return (
    <div class="list-layer" role="presentation" style={{ height: `${scroll.size.height}px` }}>
      <div class="list-rows" role="rowgroup">
        {Array.from({ length: end - begin }, (_, i) =>
          list.render(begin + i, attributesOf(begin + i, list, scroll)),
        )}
      </div>
      {list.header !== undefined && (
        <div class="list-header" role="rowgroup" style={{ height: `${list.headerHeight}px` }}>
          {list.header}
        </div>
      )}
    </div>
  );
}

function attributesOf(row: number, list: VirtualListProps, { virtual }: VirtualScroll): RowAttributes {
  const top = list.headerHeight + row * list.rowHeight - virtual;
  return {
    id: `${list.id}-${row}`,
    "aria-rowindex": row + 1 + headRows(list),
    style: { transform: `translateY(${top}px)`, height: `${list.rowHeight}px` },
  };
}

function headRows({ headerHeight }: VirtualListProps): number {
  return headerHeight > 0 ? 1 : 0;
}

function takeKey(event: KeyboardEvent, list: VirtualListProps, scroll: VirtualScroll): void {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (isPlain && list.onKey?.(event.key) === true) event.preventDefault();
  else stepByKey(event, list, scroll);
}

function stepByKey(event: KeyboardEvent, list: VirtualListProps, scroll: VirtualScroll): void {
  const { layout, virtual } = scroll;
  const { rows, focusRow } = list;
  const to = rowOfKey(event.key, {
    arrows: "down",
    from: focusRow ?? visibleRows(layout, virtual).begin - 1,
    page: Math.max(1, Math.floor(layout.viewport / list.rowHeight) - 1),
    last: rows - 1,
  });
  if (to === undefined || rows === 0) return;
  event.preventDefault();
  const row = Math.max(0, Math.min(rows - 1, to));
  scroll.moveTo(nudge(layout, virtual, row));
  list.onStep(row);
}
