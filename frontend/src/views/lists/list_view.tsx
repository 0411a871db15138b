/**
 * A list with its filter and its columns: every tensor that was computed in a graph, what Python ran, or the
 * ops, layers and other things of the run.
 */
import { useRef, useState } from "preact/hooks";
import type { ColumnPage } from "../../api/columns";
import { type AnyList, KINDS, type ListName } from "../../api/routes";
import { executionIndex, graphExecutionIndex } from "../../base/ids";
import { shown } from "../../base/loaded";
import { grouped } from "../../base/text";
import { isLong, KIND_TITLES, longOf } from "../../model/inventory";
import { grid } from "../../model/list_columns";
import { executionRow, graphExecutionRow } from "../../model/rows";
import { Choice } from "../choice";
import { GRAPH_EXECUTION_ROW, LIST_HEADER } from "../geometry";
import { useChange } from "../hooks";
import { Minimap } from "../minimap";
import { Failure, Hint } from "../panel";
import type { Of, Takes, With } from "../props";
import { VirtualList } from "../virtual_list";
import { FilterField } from "./filter_field";
import { Heads } from "./head";
import { Row } from "./row";
import { useThingPlaces } from "./things";
import { Tools } from "./tools";
import { type Columns, useColumns } from "./use_columns";
import { useShape } from "./use_shape";

type Uses = Takes<
  "alert" | "execution" | "executionPages" | "graphExecution" | "leftOut" | "live.state",
  "graphExecutionOverview" | "graphExecutionPages" | "graphExecutionPosition" | "revealedGraphExecution",
  "focusExecution" | "focusGraphExecution" | "graphExecutionBuckets" | "onlyBad" | "shownList" | "showList",
  "focusRow" | "status" | "tables.wish" | "thingPages" | "wish" | "wishes",
  typeof FilterField | typeof Heads | typeof Row | typeof Tools | typeof useShape | typeof useThingPlaces
>;

const LONG_TITLES: Readonly<Record<ListName, string>> = {
  graph_executions: "Graph executions",
  executions: "Executions",
};
const TITLES: Readonly<Record<AnyList, string>> = { ...LONG_TITLES, ...KIND_TITLES };

export function ListView({ store }: With<Uses>) {
  const list = store.shownList.value;
  const [first, setFirst] = useState(0);
  const [jumps, setJumps] = useState(0);
  const { frame, shape } = useShape(store, first);
  const columns = useColumns(list, shape);
  useMore(store, columns);
  const pages = pagesOf(store, list);
  const total = pages?.total.value ?? 0;
  const failure = pages?.failure.value;
  // Until its rows are counted, a list that was just asked for has none; its heads keep the keyboard.
  const isCounted = pages === undefined || failure !== undefined || pages.edition.value > 0;
  return (
    <section ref={frame} class="panel graph-executions" aria-label={TITLES[list]}>
      <header class="panel-head list-tools">
        <Tabs store={store} total={total} />
        <FilterField store={store} />
        <Tools store={store} columns={columns} onJump={() => setJumps(jumps + 1)} />
      </header>
      {failure !== undefined && <Failure message={failure} />}
      {total === 0 && isCounted ? (
        <Hint>{emptyWords(store)}</Hint>
      ) : (
        <List store={store} columns={columns} jumps={jumps} onFirst={setFirst} />
      )}
    </section>
  );
}

function pagesOf(store: Of<"executionPages" | "graphExecutionPages" | "thingPages">, list: AnyList) {
  if (!isLong(list)) return store.thingPages.value;
  return (list === "executions" ? store.executionPages : store.graphExecutionPages).value;
}

/** The length of a list in the run. */
function allOf({ status }: Of<"status">, list: ListName): number {
  const { num_executions = 0, num_graph_executions = 0 } = status.value ?? {};
  return list === "executions" ? num_executions : num_graph_executions;
}

/** Asks for the columns that are shown and that the server gives only if they are named. */
function useMore(store: Of<"tables.wish" | "wish">, columns: Columns): void {
  const more = columns.shown.flatMap((column) => column.more ?? []).sort();
  useChange(() => {
    if (more.join() !== store.tables.wish.value.more.join()) store.wish({ more });
  }, [more.join(), store.tables.wish.value.more.join()]);
}

/** The lists; of the one that is shown, how many rows are left. */
function Tabs({ store, total }: With<"shownList" | "showList" | "status", { total: number }>) {
  const list = store.shownList.value;
  const names = Object.keys(LONG_TITLES) as ListName[];
  return (
    <div class="list-tabs line" role="group" aria-label="Lists">
      {names.map((name) => {
        const all = allOf(store, name);
        const count = name === list && total !== all ? `${grouped(total)} of ${grouped(all)}` : grouped(all);
        return (
          <button
            key={name}
            type="button"
            class="list-tab nowrap"
            aria-pressed={name === list}
            data-testid={`list-tab-${name}`}
            onClick={() => store.showList(name)}
          >
            {TITLES[name]} <span class="dim list-count">{count}</span>
          </button>
        );
      })}
      <KindChoice store={store} total={total} />
    </div>
  );
}

/** The lists of things that the run has. */
function KindChoice({ store, total }: With<"shownList" | "showList" | "status", { total: number }>) {
  const list = store.shownList.value;
  const isThere = store.status.value?.kinds ?? [];
  const kinds = KINDS.filter((kind) => kind === list || isThere.includes(kind));
  if (kinds.length === 0) return null;
  return (
    <>
      <Choice
        class={`list-tab ${isLong(list) ? "" : "list-tab-chosen"}`}
        options={[
          { value: "graph_executions", title: `${KIND_TITLES[kinds[0] ?? "ops"]} and more` },
          ...kinds.map((kind) => ({ value: kind, title: KIND_TITLES[kind] })),
        ]}
        value={isLong(list) ? "graph_executions" : list}
        choose={(chosen: AnyList) => store.showList(chosen)}
        label="Lists of ops, layers and more"
        testId="list-kinds"
      />
      {!isLong(list) && (
        <span class="dim list-count" data-testid="list-count">
          {grouped(total)}
        </span>
      )}
    </>
  );
}

interface ListProps extends With<Uses> {
  readonly columns: Columns;
  /** Rises when the reader goes to a row by its number. */
  readonly jumps: number;
  /** Gets the first visible row. */
  readonly onFirst: (row: number) => void;
}

function List({ store, columns, jumps, onFirst }: ListProps) {
  const list = store.shownList.value;
  const pages = pagesOf(store, list);
  void pages?.edition.value;
  const total = pages?.total.value ?? 0;
  const all = isLong(list) ? allOf(store, list) : total;
  const { template, width } = grid(columns.shown, columns.choice, String(all).length);
  const places = usePlaces(store, list, (row) => pages?.at(row));
  const { filter, order } = store.tables.wish.value;
  const isNew = useNewOrder(store, order && JSON.stringify([list, order]));
  return (
    <VirtualList
      key={list}
      id={isLong(list) ? (list === "executions" ? "execution" : "trace") : "thing"}
      label={TITLES[list]}
      rows={total}
      style={{ "--columns": template, "--row-width": `${width}px` }}
      rowHeight={GRAPH_EXECUTION_ROW}
      headerHeight={LIST_HEADER}
      header={<Heads store={store} columns={columns} />}
      focusRow={places.focus}
      revealRow={isNew ? 0 : places.revealed}
      revealKey={`${store.alert.value} ${store.onlyBad.value} ${JSON.stringify([filter, order])} ${jumps}`}
      onVisible={(begin, end) => {
        onFirst(begin);
        pages?.want(begin, end);
      }}
      onStep={places.step}
      onKey={places.key}
      render={(row, attributes) => {
        const at = { list, page: pages?.at(row), place: row, columns: columns.shown };
        const own = { isHere: places.focus === row, open: () => places.open(row) };
        return <Row key={row} store={store} attributes={attributes} {...at} {...own} />;
      }}
      beside={(view) => list === "graph_executions" && <ListMinimap store={store} total={total} {...view} />}
    />
  );
}

/** Whether nothing came into focus since the list was sorted: then it shows its first rows. */
function useNewOrder(store: Of<"execution" | "graphExecution">, order: string | undefined): boolean {
  const at = `${store.execution.value} ${store.graphExecution.value}`;
  const sorted = useRef<{ readonly order: string | undefined; readonly at: string | undefined }>({
    order,
    at: undefined,
  });
  if (sorted.current.order !== order) sorted.current = { order, at };
  return order !== undefined && sorted.current.at === at;
}

type PageAt = (row: number) => ColumnPage | undefined;

interface Places {
  readonly focus: number | undefined;
  readonly revealed: number | undefined;
  readonly step: (row: number) => void;
}

/** Where the row in focus is. */
function usePlaces(store: Of<Uses>, list: AnyList, pageAt: PageAt) {
  const things = useThingPlaces(store, isLong(list) ? undefined : list, pageAt);
  const long = useLongPlaces(store, longOf(list), pageAt);
  return isLong(list) ? { ...long, key: () => false, open: () => {} } : things;
}

/** The position of a row in a filtered or sorted list is not its position in the run. */
function useLongPlaces(store: Of<Uses>, list: ListName, pageAt: PageAt): Places {
  const [stepped, setStepped] = useState<number>();
  const { filter, order } = store.wishes[list].value;
  if (list === "graph_executions")
    return {
      focus: store.graphExecutionPosition.value,
      revealed: store.revealedGraphExecution.value,
      step: (row) => {
        const page = pageAt(row);
        if (page !== undefined) store.focusRow(graphExecutionRow(page, row - page.begin));
        else if (!store.leftOut.value) void store.focusGraphExecution(graphExecutionIndex(row));
      },
    };
  const index = store.execution.value;
  const isWhole = filter.length === 0 && order === undefined;
  const isStepped = stepped !== undefined && indexAt(pageAt(stepped), stepped) === index;
  const focus = isWhole ? index : isStepped ? stepped : undefined;
  return {
    focus,
    revealed: focus,
    step: (row) => {
      setStepped(row);
      const known = indexAt(pageAt(row), row) ?? (isWhole ? executionIndex(row) : undefined);
      if (known !== undefined) store.focusExecution(known);
    },
  };
}

const indexAt = (page: ColumnPage | undefined, row: number) =>
  page && executionRow(page, row - page.begin).index;

function emptyWords(store: Of<Uses>): string {
  const shownList = store.shownList.value;
  const list = longOf(shownList);
  const all = allOf(store, list);
  if (store.status.value === undefined) return "Loading …";
  if (pagesOf(store, shownList)?.failure.value !== undefined) return "";
  if (!isLong(shownList))
    return store.tables.wish.value.filter.length > 0 || store.onlyBad.value
      ? `None of the ${TITLES[shownList].toLowerCase()} fulfils the filter.`
      : `The run has no ${TITLES[shownList].toLowerCase()} on record.`;
  if (store.wishes[list].value.filter.length > 0 && all > 0)
    return list === "executions" ? "No execution fulfils the filter." : "No tensor fulfils the filter.";
  if (list === "executions") return "Python ran no op and no function on record.";
  if (store.onlyBad.value && all > 0) return "No recorded tensor holds NaN or ∞.";
  const phase = store.live.state.value?.phase;
  if (phase === "waiting" || phase === "paused")
    return "No tensor of a graph is on record yet. To stop at a line, click beside it in the source code below, or set a breakpoint under Breakpoints; then Continue (F8).";
  return "No tensor of a graph is on record: nothing in this run is a tf.function, or none was recorded.";
}

interface ListMinimapProps extends With<Uses> {
  readonly total: number;
  readonly begin: number;
  readonly end: number;
  readonly viewport: number;
  readonly seek: (row: number) => void;
}

/**
 * The minimap of the whole list. A filtered list has none: of bad rows only, it would be bad from end to end.
 */
function ListMinimap({ store, total, begin, end, viewport, seek }: ListMinimapProps) {
  useChange(() => {
    store.graphExecutionBuckets.value = Math.min(4096, Math.max(0, Math.floor(viewport)));
  }, [viewport]);
  if (store.leftOut.value) return null;
  return (
    <div class="minimap-column fixed" style={{ paddingTop: `${LIST_HEADER}px` }}>
      <Minimap
        label="Part of the list that is seen"
        axis="y"
        length={viewport}
        overview={shown(store.graphExecutionOverview.value)}
        total={total}
        begin={begin}
        end={end}
        focus={store.graphExecution.value}
        onSeek={seek}
      />
    </div>
  );
}
