/** The rows of a list of things: ops, functions, layers … A row opens to an op, or to a filter of a long list. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type ColumnPage, numberAt, textAt } from "../../api/columns";
import type { Kind } from "../../api/routes";
import { duration, grouped } from "../../base/text";
import { termsOf, thingAt } from "../../model/inventory";
import type { ListColumn } from "../../model/list_columns";
import { displayName, shortDevice } from "../../model/names";
import { verdict } from "../../model/rows";
import type { Of } from "../props";
import type { RowAttributes } from "../virtual_list";
import { Ending, exact, HEALTH_LOOKS, HEALTH_WORDS, Line, Measured, Num, Text, Time } from "./cells";

type Uses = "addTerm" | "focusOp" | "showList";

interface ThingProps {
  readonly page: ColumnPage;
  /** Its position in the list. */
  readonly place: number;
  readonly attributes: RowAttributes;
  /** Whether the keys are at it. */
  readonly isHere: boolean;
  readonly open: () => void;
  readonly columns: readonly ListColumn[];
}

export function ThingRow({ page, place, attributes, isHere, open, columns }: ThingProps) {
  const row = place - page.begin;
  return (
    <div
      {...attributes}
      role="row"
      class={`row list-row level nowrap ${verdict(numberAt(page, "health", row)) === "bad" ? "row-bad" : ""}`}
      aria-selected={isHere}
      data-testid="things-row"
      data-index={numberAt(page, "index", row)}
      onClick={open}
    >
      {columns.map(({ id }) => (THING_CELLS[id] ?? wholeCell())(page, row, id))}
    </div>
  );
}

/** Brings an op into focus, where it is bad first; filters a long list by anything else. */
function openThing(store: Of<Uses>, kind: Kind, page: ColumnPage, row: number): void {
  const thing = thingAt(page, row);
  if (kind === "ops") {
    const { graph, name: opName, first: graphExecution } = thing;
    if (graph !== undefined && opName !== undefined)
      store.focusOp({ graph, opName, graphExecution, owner: undefined });
    return;
  }
  const terms = termsOf(kind, thing);
  if (terms.length === 0) return;
  store.showList(thing.computed === 0 && thing.calls > 0 ? "executions" : "graph_executions");
  for (const term of terms) store.addTerm(term);
}

/** Where the keys are, and what they do; of a list of ops, each that they come to is brought into focus. */
export function useThingPlaces(
  store: Of<Uses>,
  kind: Kind | undefined,
  pageAt: (row: number) => ColumnPage | undefined,
) {
  const [at, setAt] = useState<{ readonly kind: Kind | undefined; readonly row: number }>();
  const here = at?.kind === kind ? at?.row : undefined;
  const openAt = (row: number) => {
    const page = pageAt(row);
    if (kind !== undefined && page !== undefined) openThing(store, kind, page, row - page.begin);
  };
  const open = (row: number) => {
    setAt({ kind, row });
    openAt(row);
  };
  return {
    focus: here,
    revealed: here,
    step: (row: number) => {
      setAt({ kind, row });
      if (kind === "ops") openAt(row);
    },
    open,
    /** Returns whether the key does something. */
    key: (key: string) => {
      if (key !== "Enter" || here === undefined) return false;
      open(here);
      return true;
    },
  };
}

/** A cell of a thing, read from the columns of a page. */
type ThingCell = (page: ColumnPage, row: number, id: string) => ComponentChildren;

const wholeCell =
  (look = ""): ThingCell =>
  (page, row, id) => {
    const n = numberAt(page, id, row);
    return <Num text={n === undefined ? "" : grouped(n)} look={n === 0 ? "dim" : look} />;
  };
const measuredCell: ThingCell = (page, row, id) => <Measured n={numberAt(page, id, row)} />;
const textCell: ThingCell = (page, row, id) => <Text text={textAt(page, id, row)} look="dim" />;
const lineCell: ThingCell = (page, row, id) => <Line line={textAt(page, id, row)} />;

/** How the columns of things are drawn that are not just whole numbers. */
const THING_CELLS: Readonly<Record<string, ThingCell>> = {
  index: (page, row) => <Num text={numberAt(page, "index", row)} look="dim" />,
  name: (page, row) => <ThingName name={textAt(page, "name", row)} />,
  fetches: (page, row) => <Text text={textAt(page, "fetches", row)} />,
  op_type: (page, row) => <Text text={textAt(page, "op_type", row)} />,
  function: (page, row) => {
    const name = textAt(page, "function", row);
    return <Text text={name && displayName(name)} title={name} look="dim" />;
  },
  line: lineCell,
  device: (page, row) => <Text text={shortDevice(textAt(page, "device", row))} look="dim" />,
  host: (page, row) => <Ending text={textAt(page, "host", row)} />,
  begin_time: (page, row) => <Time seconds={numberAt(page, "begin_time", row)} />,
  seconds: (page, row) => {
    const seconds = numberAt(page, "seconds", row);
    return <Num text={seconds === undefined ? "" : duration(seconds)} title={exact(seconds)} />;
  },
  error: (page, row) => <Text text={textAt(page, "error", row)} look="bad" />,
  bad: wholeCell("bad"),
  nan: wholeCell("bad"),
  inf: wholeCell("bad"),
  bad_calls: wholeCell("bad"),
  bad_gradients: wholeCell("bad"),
  health: (page, row) => <WorstCell page={page} row={row} />,
  min: measuredCell,
  max: measuredCell,
  ...Object.fromEntries(
    ["feeds", "layer", "variable", "dtype", "shape", "thread"].map((id) => [id, textCell] as const),
  ),
};

/** A path is cut at its beginning, a name of a function is without what TensorFlow adds. */
function ThingName({ name }: { readonly name: string | undefined }) {
  if (name === undefined) return <Text text="none" look="dim" />;
  return /[/\\].*:\d+$/.test(name) ? (
    <Ending text={name} look="" />
  ) : (
    <Text text={displayName(name)} title={name} />
  );
}

/** What is wrong with the worst tensor, as far as the mode tells. */
function WorstCell({ page, row }: { readonly page: ColumnPage; readonly row: number }) {
  const health = verdict(numberAt(page, "health", row));
  const kinds = [numberAt(page, "nan", row) && "NaN", numberAt(page, "inf", row) && "∞"].filter(Boolean);
  const words = health === "bad" && kinds.length > 0 ? kinds.join(", ") : HEALTH_WORDS[health];
  return <Text text={words} look={HEALTH_LOOKS[health]} />;
}
