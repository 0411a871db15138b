/** The list of graph executions: every tensor that was computed in a graph, in order, with its numbers. */
import { useRef, useState } from "preact/hooks";
import type { ColumnPage } from "../api/columns";
import { graphExecutionIndex } from "../base/ids";
import { shown } from "../base/loaded";
import { grouped } from "../base/text";
import { type GraphExecutionRow, graphExecutionRow } from "../model/rows";
import type { Pages } from "../store/common/pages";
import { GRAPH_EXECUTION_ROW, LIST_HEADER } from "./geometry";
import { type Columns, Header, Row } from "./graph_execution_row";
import { Tools } from "./graph_execution_tools";
import { useChange } from "./hooks";
import { Minimap } from "./minimap";
import { Failure, Hint, Panel } from "./panel";
import type { Of, Takes, With } from "./props";
import { VirtualList } from "./virtual_list";

type Uses = Takes<
  "alert" | "filter" | "graphExecution" | "leftOut" | "live.state" | "onlyBad" | "status",
  "graphExecutionOverview" | "graphExecutionPages" | "graphExecutionPosition" | "revealedGraphExecution",
  "focusGraphExecution" | "graphExecutionBuckets",
  typeof Row | typeof Tools
>;

export function GraphExecutions({ store }: With<Uses>) {
  const pages = store.graphExecutionPages.value;
  const total = pages?.total.value ?? 0;
  const all = store.status.value?.num_graph_executions ?? 0;
  const failure = pages?.failure.value;
  const [first, setFirst] = useState(0);
  const columns = useColumns(store, first);
  const [jumps, setJumps] = useState(0);
  return (
    <Panel
      title="Graph executions"
      className="graph-executions"
      note={store.leftOut.value ? `${grouped(total)} of ${grouped(all)}` : grouped(all)}
      tools={
        <Tools store={store} total={total} withLayer={columns.withLayer} onJump={() => setJumps(jumps + 1)} />
      }
    >
      {failure !== undefined && <Failure message={failure} />}
      {total === 0 ? (
        <Hint>{emptyWords(store, all)}</Hint>
      ) : (
        <List store={store} total={total} all={all} columns={columns} jumps={jumps} onFirst={setFirst} />
      )}
    </Panel>
  );
}

interface ListProps extends With<Uses> {
  /** The number of rows of the list, and of the run. */
  readonly total: number;
  readonly all: number;
  readonly columns: Columns;
  /** Rises when the reader goes to a row by its number. */
  readonly jumps: number;
  /** Gets the first visible row. */
  readonly onFirst: (row: number) => void;
}

function List({ store, total, all, columns, jumps, onFirst }: ListProps) {
  const pages = store.graphExecutionPages.value;
  void pages?.edition.value;
  return (
    <VirtualList
      id="trace"
      label="Graph executions"
      rows={total}
      style={{ "--digits": String(all).length, "--device": columns.withDevice ? "var(--device-width)" : "" }}
      rowHeight={GRAPH_EXECUTION_ROW}
      headerHeight={LIST_HEADER}
      header={<Header {...columns} />}
      focusRow={store.graphExecutionPosition.value}
      revealRow={store.revealedGraphExecution.value}
      revealKey={`${store.alert.value} ${store.onlyBad.value} ${JSON.stringify(store.filter.value)} ${jumps}`}
      onVisible={(begin, end) => {
        onFirst(begin);
        pages?.want(begin, end);
      }}
      onStep={(row) => stepTo(store, row)}
      render={(row, attributes) => (
        <Row key={row} store={store} row={rowAt(pages, row)} attributes={attributes} columns={columns} />
      )}
      beside={(view) => <ListMinimap store={store} total={total} {...view} />}
    />
  );
}

/** Undefined while it is loading. */
function rowAt(pages: Pages<ColumnPage> | undefined, row: number): GraphExecutionRow | undefined {
  const page = pages?.at(row);
  return page && graphExecutionRow(page, row - page.begin);
}

/** The columns that the rows which were fetched so far need. */
function useColumns(store: Of<Uses>, first: number): Columns {
  const pages = store.graphExecutionPages.value;
  void pages?.edition.value;
  const page = pages?.at(first);
  const devices = useSeveral(page, "device", 2);
  const withLayer = useSeveral(page, "layer", 1);
  const withHost = (store.status.value?.hosts.length ?? 0) > 1;
  return { withDevice: devices || withHost, withHost, withLayer };
}

/**
 * Whether the fetched rows have at least `least` different texts in a column, so that it is worth its space.
 */
function useSeveral(page: ColumnPage | undefined, column: string, least: number): boolean {
  const seen = useRef(new Set<string>());
  for (const text of page?.dictionaries.get(column) ?? []) seen.current.add(text);
  return seen.current.size >= least;
}

function emptyWords(store: Of<Uses>, all: number): string {
  if (store.status.value === undefined) return "Loading …";
  if (store.graphExecutionPages.value?.failure.value !== undefined) return "";
  const filtered = Object.values(store.filter.value).some((text) => text !== undefined);
  if (filtered && all > 0) return "No tensor fulfils the filter.";
  if (store.onlyBad.value && all > 0) return "No recorded tensor holds NaN or ∞.";
  const phase = store.live.state.value?.phase;
  if (phase === "waiting" || phase === "paused")
    return "No tensor of a graph is on record yet. To stop at a line, click beside it in the source code below, or set a breakpoint under Breakpoints; then Continue (F8).";
  return "No tensor of a graph is on record: nothing in this run is a tf.function, or none was recorded.";
}

/** Goes to a row. Its position in a filtered list is not its position in the run. */
function stepTo(store: Of<Uses>, row: number): void {
  const known = rowAt(store.graphExecutionPages.value, row);
  if (known !== undefined) void store.focusGraphExecution(known.index);
  else if (!store.leftOut.value) void store.focusGraphExecution(graphExecutionIndex(row));
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
