/** The list of graph executions: every tensor that was computed in a graph, in order, with its numbers. */
import { useRef, useState } from "preact/hooks";
import type { ColumnPage } from "../api/columns";
import { graphExecutionIndex } from "../base/ids";
import { shown } from "../base/loaded";
import { compact, grouped } from "../base/text";
import { tensorName } from "../model/names";
import { roleWords } from "../model/role";
import { type GraphExecutionRow, graphExecutionRow } from "../model/rows";
import type { Store } from "../store/store";
import { shortDevice } from "./execution_card";
import { GRAPH_EXECUTION_ROW, LIST_HEADER } from "./geometry";
import { useChange } from "./hooks";
import { Minimap } from "./minimap";
import { CountHeads, Counts, TensorName } from "./numbers";
import { Failure, Hint, Panel } from "./panel";
import { type RowAttributes, VirtualList } from "./virtual_list";

export function GraphExecutions({ store }: { readonly store: Store }) {
  const pages = store.graphExecutionPages.value;
  const total = pages?.total.value ?? 0;
  const all = store.status.value?.num_graph_executions ?? 0;
  void pages?.edition.value;
  const failure = pages?.failure.value;
  const [first, setFirst] = useState(0);
  const devices = useSeveral(pages?.at(first), "device", 2);
  const hosts = (store.status.value?.hosts.length ?? 0) > 1;
  const layers = useSeveral(pages?.at(first), "layer", 1);
  const [jump, setJump] = useState({ row: undefined as number | undefined, n: 0 });
  return (
    <Panel
      title="Graph executions"
      className="graph-executions"
      note={store.leftOut.value ? `${grouped(total)} of ${grouped(all)}` : grouped(all)}
      tools={
        <Tools
          store={store}
          total={total}
          withLayer={layers}
          onJump={(row) => setJump({ row, n: jump.n + 1 })}
        />
      }
    >
      {failure !== undefined && <Failure message={failure} />}
      {total === 0 ? (
        <Hint>{emptyWords(store, all)}</Hint>
      ) : (
        <VirtualList
          id="trace"
          label="Graph executions"
          rows={total}
          style={{
            "--digits": String(all).length,
            "--device": devices || hosts ? "var(--device-width)" : "",
          }}
          rowHeight={GRAPH_EXECUTION_ROW}
          headerHeight={LIST_HEADER}
          header={<Header withDevice={devices || hosts} withHost={hosts} withLayer={layers} />}
          focusRow={store.graphExecutionPosition.value}
          revealRow={store.revealedGraphExecution.value}
          revealKey={`${store.alert.value} ${store.onlyBad.value} ${JSON.stringify(store.filter.value)} ${jump.n}`}
          onVisible={(begin, end) => {
            setFirst(begin);
            pages?.want(begin, end);
          }}
          onStep={(row) => stepTo(store, row)}
          render={(row, attributes) => {
            const page = pages?.at(row);
            return (
              <Row
                key={row}
                store={store}
                row={page && graphExecutionRow(page, row - page.begin)}
                attributes={attributes}
                withDevice={devices || hosts}
                withLayer={layers}
              />
            );
          }}
          beside={(view) => <ListMinimap store={store} total={total} {...view} />}
        />
      )}
    </Panel>
  );
}

/**
 * Whether the fetched rows have at least `least` different texts in a column, so that it is worth its space.
 */
function useSeveral(page: ColumnPage | undefined, column: string, least: number): boolean {
  const seen = useRef(new Set<string>());
  for (const text of page?.dictionaries.get(column) ?? []) seen.current.add(text);
  return seen.current.size >= least;
}

function emptyWords(store: Store, all: number): string {
  if (store.status.value === undefined) return "Loading …";
  if (store.graphExecutionPages.value?.failure.value !== undefined) return "";
  const filtered = Object.values(store.filter.value).some((text) => text !== undefined);
  if (filtered && all > 0) return "No tensor fulfils the filter.";
  if (store.onlyBad.value && all > 0) return "No recorded tensor holds NaN or ∞.";
  return "No tensor of a graph is on record: nothing in this run is a tf.function, or none was recorded.";
}

/** Goes to a row. Its position in a filtered list is not its position in the run. */
function stepTo(store: Store, row: number): void {
  const page = store.graphExecutionPages.value?.at(row);
  if (page !== undefined) void store.focusGraphExecution(graphExecutionRow(page, row - page.begin).index);
  else if (!store.leftOut.value) void store.focusGraphExecution(graphExecutionIndex(row));
}

function Tools({
  store,
  total,
  withLayer,
  onJump,
}: {
  readonly store: Store;
  readonly total: number;
  readonly withLayer: boolean;
  readonly onJump: (row: number) => void;
}) {
  const submit = (event: Event) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const text = String(new FormData(form).get("row") ?? "")
      .replaceAll(",", "")
      .trim();
    const all = store.status.value?.num_graph_executions ?? total;
    if (!/^\d+$/.test(text) || all === 0) return;
    const row = Math.min(all - 1, Number(text));
    void store.focusGraphExecution(graphExecutionIndex(row));
    onJump(row);
  };
  return (
    <div class="tools">
      <Filters store={store} withLayer={withLayer} />
      <label class="toggle">
        <input
          type="checkbox"
          checked={store.onlyBad.value}
          onChange={(event) => store.setOnlyBad(event.currentTarget.checked)}
        />
        Only NaN/∞
      </label>
      <form onSubmit={submit}>
        <input
          class="jump"
          name="row"
          inputMode="numeric"
          placeholder="Go to #"
          aria-label="Go to the row with this number"
          autocomplete="off"
        />
      </form>
    </div>
  );
}

interface HeaderProps {
  readonly withDevice: boolean;
  readonly withHost: boolean;
  readonly withLayer: boolean;
}

/** The filters that apply to the run: hosts if there are several, layers if there are any. */
function Filters({ store, withLayer }: { readonly store: Store; readonly withLayer: boolean }) {
  const filter = store.filter.value;
  const hosts = store.status.value?.hosts ?? [];
  return (
    <>
      {hosts.length > 1 && (
        <select
          class="files"
          aria-label="Host"
          value={filter.host ?? ""}
          onChange={(event) => store.setFilter({ ...filter, host: event.currentTarget.value })}
        >
          <option value="">All hosts</option>
          {[...new Set(hosts)].map((host) => (
            <option key={host} value={host}>
              {host}
            </option>
          ))}
        </select>
      )}
      {(withLayer || filter.layer !== undefined) && (
        <input
          class="filter"
          placeholder="Layer"
          aria-label="Only layers whose path holds this (a regular expression)"
          title="Only layers whose path holds this (a regular expression)"
          autocomplete="off"
          value={filter.layer ?? ""}
          onChange={(event) => store.setFilter({ ...filter, layer: event.currentTarget.value.trim() })}
        />
      )}
    </>
  );
}

function Header({ withDevice, withHost, withLayer }: HeaderProps) {
  return (
    <div class="row graph-execution-row" role="row" aria-rowindex={1}>
      <span role="columnheader" class="num">
        #
      </span>
      <span role="columnheader">tensor</span>
      <span role="columnheader" title={withLayer ? "The Keras layer" : "The graph that the op is in"}>
        {withLayer ? "layer" : "function"}
      </span>
      <span role="columnheader">op type</span>
      {withDevice && <span role="columnheader">{withHost ? "host" : "device"}</span>}
      <span role="columnheader">dtype</span>
      <span role="columnheader" class="num">
        rank
      </span>
      <span role="columnheader">shape</span>
      <span role="columnheader" class="num">
        size
      </span>
      <CountHeads />
    </div>
  );
}

interface RowProps {
  readonly store: Store;
  readonly row: GraphExecutionRow | undefined;
  readonly attributes: RowAttributes;
  readonly withDevice: boolean;
  readonly withLayer: boolean;
}

function Row({ store, row, attributes, withDevice, withLayer }: RowProps) {
  if (row === undefined)
    return (
      <div {...attributes} role="row" class="row graph-execution-row" aria-selected={false}>
        <span role="gridcell" class="num dim">
          …
        </span>
      </div>
    );
  const selected = store.graphExecution.value === row.index;
  const isInput = store.inputGraphExecutions.value.has(row.index);
  const { summary } = row;
  const isInside = row.owner !== undefined && row.owner === store.execution.value;
  const device = shortDevice(row.device);
  const host = (store.status.value?.hosts.length ?? 0) > 1 ? row.host : undefined;
  const role = roleWords(row.opName, row.role);
  return (
    <div
      {...attributes}
      role="row"
      class={`row graph-execution-row ${summary.bad ? "row-bad" : ""} ${isInput ? "row-input" : ""} ${isInside ? "row-inside" : ""}`}
      aria-selected={selected}
      data-testid="graph-executions-row"
      data-index={row.index}
      onClick={() => void store.focusGraphExecution(row.index)}
    >
      <span role="gridcell" class="num dim">
        {row.index}
      </span>
      <span role="gridcell">
        <TensorName name={tensorName(row.opName, row.slot)} />
        {row.role.gradientOf.length > 0 && (
          <span class="tag tag-gradient" title={role}>
            ∇ {row.role.gradientOf.join(", ")}
          </span>
        )}
        {isInput && <span class="tag">input</span>}
      </span>
      <span
        role="gridcell"
        class={`ellipsis ${row.role.layer === undefined ? "dim" : ""}`}
        title={[role ?? (withLayer ? "no layer" : undefined), row.functionName && `in ${row.functionName}`]
          .filter(Boolean)
          .join(" · ")}
      >
        {withLayer ? (row.role.layer ?? "–") : row.functionName}
      </span>
      <span
        role="gridcell"
        class="ellipsis"
        title={device === undefined ? row.opType : `${row.opType} on ${device}`}
      >
        {row.opType}
      </span>
      {withDevice && (
        <span
          role="gridcell"
          class="ellipsis ellipsis-start dim"
          title={[host, device].filter(Boolean).join(" ")}
        >
          <bdi>{host ?? device}</bdi>
        </span>
      )}
      <span role="gridcell" class="ellipsis dim">
        {summary.dtype}
      </span>
      <span role="gridcell" class="num dim">
        {summary.rank}
      </span>
      <span role="gridcell" class="ellipsis shape" title={summary.shape}>
        {summary.shape}
      </span>
      <span
        role="gridcell"
        class="num"
        title={summary.size === undefined ? undefined : grouped(summary.size)}
      >
        {summary.size === undefined ? "" : compact(summary.size)}
      </span>
      <Counts summary={summary} />
    </div>
  );
}

interface ListMinimapProps {
  readonly store: Store;
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
    <div class="minimap-column" style={{ paddingTop: `${LIST_HEADER}px` }}>
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
