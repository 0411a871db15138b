/** The columns of a list: which are shown, in which order and how wide. The browser keeps what a reader chose. */
import {
  columnOrderingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  constructTable,
  tableFeatures,
} from "@tanstack/table-core";
import { storeReactivityBindings } from "@tanstack/table-core/store-reactivity-bindings";
import { useMemo, useState } from "preact/hooks";
import type { AnyList } from "../../api/routes";
import { remember, remembered } from "../../base/host";
import {
  type ColumnChoice,
  LIST_COLUMNS,
  type ListColumn,
  moved,
  NO_CHOICE,
  offered,
  readChoice,
  type Shape,
  visibility,
  writeChoice,
} from "../../model/list_columns";

const LEAST_WIDTH = 28;
const features = tableFeatures({
  coreReactivityFeature: storeReactivityBindings(),
  columnOrderingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
});

export interface Columns {
  /** Those that are shown, in order. */
  readonly shown: readonly ListColumn[];
  /** Those that the run has. */
  readonly offered: readonly ListColumn[];
  readonly choice: ColumnChoice;
  toggle(id: string): void;
  /** Moves a column before another one, or to the end. */
  move(id: string, before: string | undefined): void;
  /** Moves a column by one place among those that are shown. */
  shift(id: string, by: 1 | -1): void;
  /** Sets a width in pixels; undefined makes it as wide as at first. */
  widen(id: string, width: number | undefined): void;
  reset(): void;
}

export function useColumns(list: AnyList, shape: Shape): Columns {
  const table = useMemo(() => makeTable(list), [list]);
  const [choices, setChoices] = useState<Partial<Record<AnyList, ColumnChoice>>>({});
  const choice = choices[list] ?? readChoice(remembered(`columns.${list}`), list);
  const keep = (next: ColumnChoice) => {
    remember(`columns.${list}`, writeChoice(next));
    setChoices({ ...choices, [list]: next });
  };
  table.setColumnOrder([...choice.order]);
  table.setColumnSizing({ ...choice.widths });
  table.setColumnVisibility(visibility(list, shape, choice));
  const byId = new Map(LIST_COLUMNS[list].map((column) => [column.id, column]));
  const shown = table.getVisibleLeafColumns().flatMap(({ id }) => byId.get(id) ?? []);
  const order = table.getAllLeafColumns().map(({ id }) => id);
  const all = choice.order.length > 0 ? choice.order : order;
  const move = (id: string, before: string | undefined) => keep({ ...choice, order: moved(all, id, before) });
  return {
    shown,
    offered: offered(list, shape),
    choice,
    toggle: (id) => {
      const isShown = table.getColumn(id)?.getIsVisible() ?? false;
      keep({ ...choice, shown: { ...choice.shown, [id]: !isShown } });
    },
    move,
    shift: (id, by) => {
      const place = shown.findIndex((column) => column.id === id);
      const beyond = shown[place + by];
      if (beyond !== undefined) move(id, by < 0 ? beyond.id : shown[place + 2]?.id);
    },
    widen: (id, width) => {
      const { [id]: _, ...widths } = choice.widths;
      const wide = width === undefined ? {} : { [id]: Math.max(LEAST_WIDTH, Math.round(width)) };
      keep({ ...choice, widths: { ...widths, ...wide } });
    },
    reset: () => keep(NO_CHOICE),
  };
}

function makeTable(list: AnyList) {
  return constructTable({
    features,
    columns: LIST_COLUMNS[list].map(({ id, title }) => ({ id, header: title })),
    data: [] as object[],
  });
}
