/** The exact elements of a slice as a table that scrolls both ways. A vector stands in one column. */
import { useEffect, useRef } from "preact/hooks";
import type { RunName } from "../../base/ids";
import { nudge, spacer, visibleRows } from "../../model/scroll";
import type { NumberRange } from "../../model/values/grid";
import { columnsOf, type Line, type Plane, rowsOf } from "../../model/values/slicing";
import { type Cell, hasNumbers, typedNumber, type ValueView } from "../../model/values/view";
import type { Store } from "../../store/store";
import { textBlocks, textOf } from "../../store/values/texts";
import { VALUE_CELL } from "../geometry";
import { Failure } from "../panel";
import { useVirtualScroll, type VirtualScroll } from "../virtual_scroll";
import { useRange } from "./range";

interface TableProps {
  readonly store: Store;
  readonly view: ValueView;
  readonly plane: Plane;
}

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

export function ValueTable({ store, view, plane }: TableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const layout = layoutOf(plane);
  const down = useVirtualScroll(scroller, {
    rows: layout.rows,
    rowHeight: VALUE_CELL.height,
    headerHeight: VALUE_CELL.height,
  });
  const across = useVirtualScroll(
    scroller,
    { rows: layout.columns, rowHeight: VALUE_CELL.width, headerHeight: VALUE_CELL.head },
    "across",
  );
  const spans = {
    rows: visibleRows(down.layout, down.virtual),
    columns: visibleRows(across.layout, across.virtual),
  };
  useTexts(store, view, layout, spans);
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
        onKeyDown={(event) => takeKey(event, store, layout, down, across)}
      >
        <div
          role="presentation"
          style={{
            height: `${spacer(down.layout) + VALUE_CELL.height}px`,
            width: `${spacer(across.layout) + VALUE_CELL.head}px`,
          }}
        >
          <Cells store={store} view={view} layout={layout} spans={spans} down={down} across={across} />
        </div>
      </div>
    </>
  );
}

interface Spans {
  readonly rows: { readonly begin: number; readonly end: number };
  readonly columns: { readonly begin: number; readonly end: number };
}

/** Requests the texts of what is seen. */
function useTexts(store: Store, view: ValueView, layout: Layout, { rows, columns }: Spans): void {
  const run = store.run.value;
  useEffect(() => {
    if (run === undefined) return;
    const [from, to] = [layout.cellOf(rows.begin, columns.begin), layout.cellOf(rows.end, columns.end)];
    store.valueTexts.want(
      textBlocks(run, view, { begin: from.row, end: to.row }, { begin: from.column, end: to.column }),
    );
  }, [run, view, rows.begin, rows.end, columns.begin, columns.end]);
}

interface CellsProps {
  readonly store: Store;
  readonly view: ValueView;
  readonly layout: Layout;
  readonly spans: Spans;
  readonly down: VirtualScroll;
  readonly across: VirtualScroll;
}

/** The cells that are seen, with the positions of their rows and columns at the edges. */
function Cells({ store, view, layout, spans, down, across }: CellsProps) {
  void store.valueTexts.edition.value;
  const run = store.run.value;
  const only = useRange(store);
  const { rows, columns } = spans;
  const top = (row: number) => VALUE_CELL.height + row * VALUE_CELL.height - down.virtual;
  const left = (column: number) => VALUE_CELL.head + column * VALUE_CELL.width - across.virtual;
  const { width, height } = { width: across.size.width, height: down.size.height };
  if (run === undefined) return null;
  return (
    <div class="value-layer" role="rowgroup" style={{ width: `${width}px`, height: `${height}px` }}>
      <div class="value-heads" role="row" aria-rowindex={1}>
        <span role="columnheader" class="value-corner" />
        {upTo(columns).map((column) => (
          <span key={column} role="columnheader" class="value-head num" style={{ left: `${left(column)}px` }}>
            {positionIn(layout.across, column)}
          </span>
        ))}
      </div>
      {upTo(rows).map((row) => (
        <div key={row} class="value-row" role="row" aria-rowindex={row + 2} style={{ top: `${top(row)}px` }}>
          <span role="rowheader" class="value-side num">
            {positionIn(layout.down, row)}
          </span>
          {upTo(columns).map((column) => (
            <ElementCell
              key={column}
              store={store}
              run={run}
              view={view}
              cell={layout.cellOf(row, column)}
              column={column}
              left={left(column)}
              only={only}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

function upTo({ begin, end }: Spans["rows"]): readonly number[] {
  return Array.from({ length: Math.max(0, end - begin) }, (_, i) => begin + i);
}

/** The position in the whole tensor. */
function positionIn(line: Line | undefined, at: number): string {
  return line === undefined ? "" : String(line.first + at * line.step);
}

interface ElementProps {
  readonly store: Store;
  readonly run: RunName;
  readonly view: ValueView;
  readonly cell: Cell;
  readonly column: number;
  readonly left: number;
  readonly only: NumberRange | undefined;
}

const KINDS: Readonly<Record<string, string>> = {
  nan: "value-nan",
  inf: "value-pos-inf",
  "-inf": "value-neg-inf",
};

function ElementCell({ store, run, view, cell, column, left, only }: ElementProps) {
  const text = textOf(store.valueTexts, run, view, cell);
  const focus = store.cell.value;
  const isSelected = focus?.row === cell.row && focus.column === cell.column;
  const isText = !hasNumbers(view.info);
  const isIn = only !== undefined && text !== undefined && !isText && isInside(text, only);
  return (
    <span
      role="gridcell"
      class={["value-cell", isText ? "" : "num", KINDS[text ?? ""] ?? "", isIn ? "value-inside" : ""].join(
        " ",
      )}
      aria-selected={isSelected}
      aria-colindex={column + 2}
      style={{ left: `${left}px` }}
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

/** Goes to another element; the table scrolls as little as needed to show it. */
function takeKey(
  event: KeyboardEvent,
  store: Store,
  layout: Layout,
  down: VirtualScroll,
  across: VirtualScroll,
): void {
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
  down.moveTo(nudge(down.layout, down.virtual, row));
  across.moveTo(nudge(across.layout, across.virtual, column));
}
