/** The exact elements of a slice as a table that scrolls both ways. A vector stands in one column. */
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { nudge, spacer, visibleRows } from "../../model/scroll";
import type { NumberRange } from "../../model/values/grid";
import { columnsOf, type Line, type Plane, rowsOf, type Span } from "../../model/values/slicing";
import { type Cell, hasNumbers, typedNumber, type ValueView } from "../../model/values/view";
import { textBlocks, textOf } from "../../store/values/values";
import { VALUE_CELL } from "../geometry";
import { Failure } from "../panel";
import type { Of, With } from "../props";
import { useVirtualScroll, type VirtualScroll } from "../virtual_scroll";
import { takeBadKey } from "./bad_element";
import { useRange } from "./range";

type Uses = "cell" | "run" | "valueTexts" | "setCell" | typeof takeBadKey | typeof useRange;

/** A table of the plane, or of the plane on its side. */
interface Layout {
  readonly rows: number;
  readonly columns: number;
  readonly down: Line | undefined;
  readonly across: Line | undefined;
  /** The element of a cell. */
  readonly cellOf: (row: number, column: number) => Cell;
}

function layoutOf(plane: Plane): Layout {
  const [rows, columns] = [rowsOf(plane), columnsOf(plane)];
  if (plane.rows !== undefined)
    return {
      rows,
      columns,
      down: plane.rows,
      across: plane.columns,
      cellOf: (row, column) => ({ row, column }),
    };
  const cellOf = (row: number, column: number) => ({ row: column, column: row });
  return { rows: columns, columns: rows, down: plane.columns, across: undefined, cellOf };
}

/** Where the table is scrolled to. */
interface Scroll {
  readonly down: VirtualScroll;
  readonly across: VirtualScroll;
  /** What is seen. */
  readonly rows: Span;
  readonly columns: Span;
}

function useScroll(scroller: RefObject<HTMLElement | null>, { rows, columns }: Layout): Scroll {
  const { width, height, head } = VALUE_CELL;
  const down = useVirtualScroll(scroller, { rows, rowHeight: height, headerHeight: height });
  const across = useVirtualScroll(
    scroller,
    { rows: columns, rowHeight: width, headerHeight: head },
    "across",
  );
  return {
    down,
    across,
    rows: visibleRows(down.layout, down.virtual),
    columns: visibleRows(across.layout, across.virtual),
  };
}

export function ValueTable({ store, view, plane }: With<Uses, { view: ValueView; plane: Plane }>) {
  const scroller = useRef<HTMLDivElement>(null);
  const layout = layoutOf(plane);
  const scroll = useScroll(scroller, layout);
  const { down, across } = scroll;
  useTexts(store, view, layout, scroll);
  useSeen(store, layout, scroll);
  const failure = store.valueTexts.failure.value;
  return (
    <>
      {failure !== undefined && <Failure message={failure} />}
      <div
        ref={scroller}
        class="value-table"
        role="grid"
        aria-label="Elements"
        aria-rowcount={layout.rows + 1}
        aria-colcount={layout.columns + 1}
        tabIndex={0}
        data-testid="value-table"
        onScroll={() => {
          down.onScroll();
          across.onScroll();
        }}
        onKeyDown={(event) => takeKey(event, store, view, layout, scroll)}
      >
        <div
          role="presentation"
          style={{
            height: `${spacer(down.layout) + VALUE_CELL.height}px`,
            width: `${spacer(across.layout) + VALUE_CELL.head}px`,
          }}
        >
          <Cells store={store} view={view} layout={layout} scroll={scroll} />
        </div>
      </div>
    </>
  );
}

/** Requests the texts of what is seen. */
function useTexts(store: Of<Uses>, view: ValueView, layout: Layout, { rows, columns }: Scroll): void {
  const run = store.run.value;
  useEffect(() => {
    if (run === undefined) return;
    const [from, to] = [layout.cellOf(rows.begin, columns.begin), layout.cellOf(rows.end, columns.end)];
    store.valueTexts.want(
      textBlocks(run, view, { begin: from.row, end: to.row }, { begin: from.column, end: to.column }),
    );
  }, [run, view, rows.begin, rows.end, columns.begin, columns.end]);
}

/** Scrolls as little as needed to show the element that is chosen. */
function useSeen(store: Of<Uses>, layout: Layout, { down, across }: Scroll): void {
  const cell = store.cell.value;
  const isThere = down.layout.viewport > 0;
  useEffect(() => {
    if (cell === undefined || !isThere) return;
    const at = layout.cellOf(cell.row, cell.column);
    down.moveTo(nudge(down.layout, down.virtual, at.row));
    across.moveTo(nudge(across.layout, across.virtual, at.column));
  }, [cell, isThere]);
}

/** The cells that are seen, with the positions of their rows and columns at the edges. */
function Cells({
  store,
  view,
  layout,
  scroll,
}: With<Uses, { view: ValueView; layout: Layout; scroll: Scroll }>) {
  const { down, across, rows, columns } = scroll;
  const only = useRange(store);
  const head = hasNumbers(view.info) ? "value-head num" : "value-head";
  void store.valueTexts.edition.value;
  return (
    <div
      class="value-layer"
      role="rowgroup"
      style={{ width: `${across.size.width}px`, height: `${down.size.height}px` }}
    >
      <div class="value-heads raised ruled" role="row" aria-rowindex={1}>
        <span role="columnheader" class="value-corner raised dim" />
        {upTo(columns).map((column) => (
          <span key={column} role="columnheader" class={head} style={leftOf(across, column)}>
            {positionIn(layout.across, column)}
          </span>
        ))}
      </div>
      {upTo(rows).map((row) => (
        <div key={row} class="value-row" role="row" aria-rowindex={row + 2} style={topOf(down, row)}>
          <span role="rowheader" class="value-side raised dim num">
            {positionIn(layout.down, row)}
          </span>
          {upTo(columns).map((column) => {
            const cell = layout.cellOf(row, column);
            const place = { "aria-colindex": column + 2, style: leftOf(across, column) };
            return <Element key={column} store={store} view={view} cell={cell} place={place} only={only} />;
          })}
        </div>
      ))}
    </div>
  );
}

function topOf({ virtual }: VirtualScroll, row: number) {
  return { top: `${VALUE_CELL.height * (row + 1) - virtual}px` };
}

function leftOf({ virtual }: VirtualScroll, column: number) {
  return { left: `${VALUE_CELL.head + column * VALUE_CELL.width - virtual}px` };
}

function upTo({ begin, end }: Span): readonly number[] {
  return Array.from({ length: Math.max(0, end - begin) }, (_, i) => begin + i);
}

/** The position in the whole tensor. */
function positionIn(line: Line | undefined, at: number): string {
  return line === undefined ? "" : String(line.first + at * line.step);
}

interface ElementProps extends With<Uses> {
  readonly view: ValueView;
  readonly cell: Cell;
  /** Attributes for its place in the table. */
  readonly place: { readonly "aria-colindex": number; readonly style: { readonly left: string } };
  readonly only: NumberRange | undefined;
}

const KINDS: Readonly<Record<string, string>> = {
  nan: "bad",
  inf: "bad",
  "-inf": "bad",
};

function Element({ store, view, cell, place, only }: ElementProps) {
  const run = store.run.value;
  const text = run === undefined ? undefined : textOf(store.valueTexts, run, view, cell);
  const focus = store.cell.value;
  const isNumber = hasNumbers(view.info);
  const isIn = only !== undefined && text !== undefined && isNumber && isInside(text, only);
  const classes = ["value-cell", isNumber && "num", KINDS[text ?? ""], isIn && "value-inside"];
  return (
    <span
      {...place}
      role="gridcell"
      class={classes.filter(Boolean).join(" ")}
      aria-selected={focus?.row === cell.row && focus.column === cell.column}
      title={text}
      data-testid="value-element"
      onClick={() => store.setCell(cell)}
    >
      {text ?? "…"}
    </span>
  );
}

function isInside(text: string, { low, high }: NumberRange): boolean {
  const n = text === "True" ? 1 : text === "False" ? 0 : typedNumber(text);
  return n !== undefined && n >= low && n <= high;
}

type Step = (at: Cell, page: Cell, last: Cell) => Cell;
const KEYS: Readonly<Record<string, Step>> = {
  ArrowUp: ({ row, column }) => ({ row: row - 1, column }),
  ArrowDown: ({ row, column }) => ({ row: row + 1, column }),
  ArrowLeft: ({ row, column }) => ({ row, column: column - 1 }),
  ArrowRight: ({ row, column }) => ({ row, column: column + 1 }),
  PageUp: ({ row, column }, page) => ({ row: row - page.row, column }),
  PageDown: ({ row, column }, page) => ({ row: row + page.row, column }),
  Home: ({ row }) => ({ row, column: 0 }),
  End: ({ row }, _, last) => ({ row, column: last.column }),
};

/** Goes to another element. */
function takeKey(
  event: KeyboardEvent,
  store: Of<Uses>,
  view: ValueView,
  layout: Layout,
  { down }: Scroll,
): void {
  if (takeBadKey(store, event, view)) return;
  const step = KEYS[event.key];
  const last = { row: layout.rows - 1, column: layout.columns - 1 };
  if (step === undefined || last.row < 0 || last.column < 0) return;
  event.preventDefault();
  const focus = store.cell.peek();
  const from = focus && layout.cellOf(focus.row, focus.column);
  const page = { row: Math.max(1, Math.floor(down.layout.viewport / VALUE_CELL.height) - 1), column: 1 };
  const to = from === undefined ? { row: 0, column: 0 } : step(from, page, last);
  const row = Math.max(0, Math.min(last.row, to.row));
  const column = Math.max(0, Math.min(last.column, to.column));
  store.setCell(layout.cellOf(row, column));
}
