/** A row of the list of graph executions: a tensor with its numbers, and the header above. */
import { compact, grouped } from "../base/text";
import { tensorName } from "../model/names";
import { roleWords } from "../model/role";
import type { GraphExecutionRow } from "../model/rows";
import { mayHoldValue } from "../model/values/value_ref";
import { ChangedTag } from "./changed_tag";
import { shortDevice } from "./execution_card";
import { CountHeads, Counts, TensorName } from "./numbers";
import type { Takes, With } from "./props";
import { ValueButton } from "./values/value_button";
import type { RowAttributes } from "./virtual_list";

type Uses = Takes<
  "execution" | "graphExecution" | "inputGraphExecutions",
  "focusGraphExecution",
  typeof ChangedTag | typeof ValueButton
>;

/** The columns that not every run needs. */
export interface Columns {
  /** The device or, with several hosts, the host. */
  readonly withDevice: boolean;
  readonly withHost: boolean;
  /** The layer in place of the function. */
  readonly withLayer: boolean;
}

export function Header({ withDevice, withHost, withLayer }: Columns) {
  return (
    <div class="row graph-execution-row level nowrap" role="row" aria-rowindex={1}>
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

interface RowProps extends With<Uses> {
  /** Undefined while it is loading. */
  readonly row: GraphExecutionRow | undefined;
  readonly attributes: RowAttributes;
  readonly columns: Columns;
}

export function Row({ store, row, attributes, columns }: RowProps) {
  if (row === undefined) return loadingRow(attributes);
  const { summary } = row;
  const isInput = store.inputGraphExecutions.value.has(row.index);
  const isInside = row.owner !== undefined && row.owner === store.execution.value;
  return (
    <div
      {...attributes}
      role="row"
      class={`row graph-execution-row level nowrap ${summary.bad ? "row-bad" : ""} ${isInput ? "row-input" : ""} ${isInside ? "row-inside" : ""}`}
      aria-selected={store.graphExecution.value === row.index}
      data-testid="graph-executions-row"
      data-index={row.index}
      onClick={() => void store.focusGraphExecution(row.index)}
    >
      <span role="gridcell" class="num dim">
        {row.index}
      </span>
      <NameCell store={store} row={row} isInput={isInput} />
      <PlaceCell row={row} withLayer={columns.withLayer} />
      <OpCells row={row} columns={columns} />
      <TensorCells summary={summary} />
      <Counts summary={summary} />
    </div>
  );
}

function loadingRow(attributes: RowAttributes) {
  return (
    <div {...attributes} role="row" class="row graph-execution-row level nowrap" aria-selected={false}>
      <span role="gridcell" class="num dim">
        …
      </span>
    </div>
  );
}

function NameCell({ store, row, isInput }: With<Uses, { row: GraphExecutionRow; isInput: boolean }>) {
  const name = tensorName(row.opName, row.slot);
  return (
    <span role="gridcell">
      <TensorName name={name} />
      {mayHoldValue(row.summary) && (
        <ValueButton
          store={store}
          value={{ kind: "graph_execution", index: row.index }}
          name={name}
          isInList
        />
      )}
      {row.role.gradientOf.length > 0 && (
        <span class="tag tag-gradient" title={roleWords(row.opName, row.role)}>
          ∇ {row.role.gradientOf.join(", ")}
        </span>
      )}
      <ChangedTag store={store} of={{ graphExecution: row.index }} />
      {isInput && <span class="tag">input</span>}
    </span>
  );
}

/** The layer or the function that the op is in. */
function PlaceCell({ row, withLayer }: { readonly row: GraphExecutionRow; readonly withLayer: boolean }) {
  const { layer } = row.role;
  const role = roleWords(row.opName, row.role) ?? (withLayer ? "no layer" : undefined);
  return (
    <span
      role="gridcell"
      class={`ellipsis ${layer === undefined ? "dim" : ""}`}
      title={[role, row.functionName && `in ${row.functionName}`].filter(Boolean).join(" · ")}
    >
      {withLayer ? (layer ?? "–") : row.functionName}
    </span>
  );
}

function OpCells({ row, columns }: { readonly row: GraphExecutionRow; readonly columns: Columns }) {
  const device = shortDevice(row.device);
  const host = columns.withHost ? row.host : undefined;
  return (
    <>
      <span
        role="gridcell"
        class="ellipsis"
        title={device === undefined ? row.opType : `${row.opType} on ${device}`}
      >
        {row.opType}
      </span>
      {columns.withDevice && (
        <span
          role="gridcell"
          class="ellipsis ellipsis-start dim"
          title={[host, device].filter(Boolean).join(" ")}
        >
          <bdi>{host ?? device}</bdi>
        </span>
      )}
    </>
  );
}

function TensorCells({ summary }: { readonly summary: GraphExecutionRow["summary"] }) {
  const { size } = summary;
  return (
    <>
      <span role="gridcell" class="ellipsis dim">
        {summary.dtype}
      </span>
      <span role="gridcell" class="num dim">
        {summary.rank}
      </span>
      <span role="gridcell" class="ellipsis shape" title={summary.shape}>
        {summary.shape}
      </span>
      <span role="gridcell" class="num" title={size === undefined ? undefined : grouped(size)}>
        {size === undefined ? "" : compact(size)}
      </span>
    </>
  );
}
