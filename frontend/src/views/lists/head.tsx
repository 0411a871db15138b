/**
 * The heads of a list. A click, or Enter, sorts; a drag moves a column, and a drag of its right end widens it.
 * Of the heads, Tab reaches one, and the arrow keys go along: with Alt they move the column, with Shift they
 * widen it.
 */
import { useRef, useState } from "preact/hooks";
import { type RowOrder, writeOrder } from "../../model/filters";
import { KINDS } from "../../model/health";
import type { ListColumn } from "../../model/list_columns";
import { drag } from "../hooks";
import { inkOf } from "../numbers";
import type { With } from "../props";
import type { Columns } from "./use_columns";

const STEP = 12;
/** Pixels from which on a press is a drag. */
const DRAGGED = 5;

interface HeadsProps extends With<"tables.wish" | "wish"> {
  readonly columns: Columns;
}

export function Heads({ store, columns }: HeadsProps) {
  const { order } = store.tables.wish.value;
  const [at, setAt] = useState(0);
  const last = columns.shown.length - 1;
  return (
    <div class="row list-row level nowrap" role="row" aria-rowindex={1}>
      {columns.shown.map((column, place) => (
        <Head
          key={column.id}
          column={column}
          columns={columns}
          order={order}
          sort={(by) => store.wish({ order: nextOrder(order, by) })}
          isStop={place === Math.min(at, last)}
          onFocus={() => setAt(place)}
        />
      ))}
    </div>
  );
}

/** From large to small, from small to large, and as recorded; text begins with A. */
export function nextOrder(order: RowOrder | undefined, by: string): RowOrder | undefined {
  const first = !TEXTS.has(by);
  if (order?.column !== by) return { column: by, descending: first };
  return order.descending === first ? { column: by, descending: !first } : undefined;
}

/** What is read from its beginning, unlike a number, of which the largest matters most. */
const TEXTS: ReadonlySet<string> = new Set([
  ...["index", "wall_time", "tensor_name", "op_type", "function", "layer", "line", "device", "host"],
  ...["thread", "dtype", "shape", "slot", "name", "variable", "session", "run", "fetches", "feeds", "error"],
  ...["begin_time", "first_bad"],
]);

interface HeadProps {
  readonly column: ListColumn;
  readonly columns: Columns;
  readonly order: RowOrder | undefined;
  readonly sort: (by: string) => void;
  /** Whether the key Tab stops here. */
  readonly isStop: boolean;
  readonly onFocus: () => void;
}

function Head(props: HeadProps) {
  const { column, columns, order, onFocus } = props;
  const element = useRef<HTMLSpanElement>(null);
  const widen = (event: PointerEvent) => {
    event.preventDefault();
    event.stopPropagation();
    const from = event.clientX;
    const before = element.current?.offsetWidth ?? column.least;
    drag(event, (move) => columns.widen(column.id, before + move.clientX - from));
  };
  const isSorted = order !== undefined && order.column === column.sort;
  return (
    <span
      ref={element}
      role="columnheader"
      class={`list-head ${column.isNumber === true ? "num" : ""} ${column.id === "counts" ? "counts" : ""}`}
      data-column={column.id}
      aria-sort={isSorted ? (order.descending ? "descending" : "ascending") : undefined}
      onFocusIn={onFocus}
      onKeyDown={(event) => takeKey(event, column, columns, element.current)}
    >
      {column.id === "counts" ? <CountHeads {...props} /> : <SortButton {...props} by={column.sort} />}
      <i
        class="head-grip"
        aria-hidden="true"
        title="Drag to widen; a double click makes it as wide as at first"
        onPointerDown={widen}
        onDblClick={() => columns.widen(column.id, undefined)}
      />
    </span>
  );
}

function SortButton(props: HeadProps & { readonly by: string | undefined }) {
  const { column, order, sort, isStop, by } = props;
  const press = usePress(props);
  const words = by === undefined ? column.words : `${column.words}: sort`;
  return (
    <button
      type="button"
      class="head-button cut"
      tabIndex={isStop ? 0 : -1}
      title={`${words} (drag, or Alt with ← →, moves it; Shift with ← → widens it)`}
      data-testid={`head-${column.id}`}
      onPointerDown={press.down}
      onClick={() => !press.wasDrag() && by !== undefined && sort(by)}
    >
      {column.title}
      <Arrow order={order} by={by} />
    </button>
  );
}

function Arrow({ order, by }: { readonly order: RowOrder | undefined; readonly by: string | undefined }) {
  if (order === undefined || order.column !== by) return null;
  return (
    <span class="head-arrow" aria-hidden="true">
      {order.descending ? "▼" : "▲"}
    </span>
  );
}

/** The heads of the six counts, each with the colour of its part of the bar. */
function CountHeads({ order, sort, isStop }: HeadProps) {
  return (
    <>
      {KINDS.map(({ name, symbol }, place) => (
        <button
          key={name}
          type="button"
          class="count head-button"
          tabIndex={isStop && place === 0 ? 0 : -1}
          aria-label={`How many are ${symbol}: sort${order?.column === name ? `, now ${writeOrder(order)}` : ""}`}
          title={`How many are ${symbol}: sort`}
          data-testid={`head-${name}`}
          onClick={() => sort(name)}
        >
          {symbol}
          <Arrow order={order} by={name} />
          <i class="key" style={{ background: inkOf(name) }} />
        </button>
      ))}
    </>
  );
}

/** A press that moves is a drag, which moves the column to where it ends. */
function usePress({ column, columns }: HeadProps) {
  const dragged = useRef(false);
  return {
    wasDrag: () => dragged.current,
    down: (event: PointerEvent) => {
      if (event.button !== 0) return;
      const from = event.clientX;
      let at = from;
      dragged.current = false;
      const follow = (move: PointerEvent) => {
        at = move.clientX;
        dragged.current ||= Math.abs(at - from) > DRAGGED;
      };
      drag(event, follow, () => {
        if (dragged.current) columns.move(column.id, columnAt(at));
      });
    },
  };
}

/** The column that begins after a place in the window; undefined after the last one. */
function columnAt(x: number): string | undefined {
  const heads = [...document.querySelectorAll<HTMLElement>(".list-head")];
  return heads.find((head) => {
    const { left, width } = head.getBoundingClientRect();
    return x < left + width / 2;
  })?.dataset.column;
}

function takeKey(event: KeyboardEvent, column: ListColumn, columns: Columns, head: HTMLElement | null): void {
  // The list opens its row with the same key.
  if (event.key === "Enter") event.stopPropagation();
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key] as 1 | -1 | undefined;
  if (by === undefined || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.altKey) columns.shift(column.id, by);
  else if (event.shiftKey) columns.widen(column.id, (head?.offsetWidth ?? column.least) + by * STEP);
  else goAlong(by);
}

function goAlong(by: 1 | -1): void {
  const buttons = [...document.querySelectorAll<HTMLElement>(".list-head .head-button")];
  const here = buttons.indexOf(document.activeElement as HTMLElement);
  buttons[here + by]?.focus();
}
