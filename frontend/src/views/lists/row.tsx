/** A row of a long list. */
import type { ColumnPage } from "../../api/columns";
import type { AnyList } from "../../api/routes";
import { isLong } from "../../model/inventory";
import type { ListColumn } from "../../model/list_columns";
import { executionRow, graphExecutionRow } from "../../model/rows";
import type { Takes, With } from "../props";
import type { RowAttributes } from "../virtual_list";
import { type CellStore, EXECUTION_CELLS, GRAPH_EXECUTION_CELLS } from "./cells";
import { ThingRow } from "./things";

type Uses = Takes<
  "execution" | "graphExecution" | "inputGraphExecutions",
  "focusExecution" | "focusRow",
  (store: CellStore) => void
>;

interface RowProps extends With<Uses> {
  readonly list: AnyList;
  /** The page that has the row; undefined while it is loading. */
  readonly page: ColumnPage | undefined;
  /** Its position in the list that is shown. */
  readonly place: number;
  readonly attributes: RowAttributes;
  /** Whether the keys are at it. */
  readonly isHere: boolean;
  /** Opens it, if it is a thing. */
  readonly open: () => void;
  readonly columns: readonly ListColumn[];
}

export function Row(props: RowProps) {
  const { list, page, attributes } = props;
  if (page === undefined)
    return (
      <div {...attributes} role="row" class="row list-row level nowrap" aria-selected={false}>
        <span role="gridcell" class="num dim">
          …
        </span>
      </div>
    );
  if (!isLong(list)) return <ThingRow {...props} page={page} />;
  return list === "executions" ? (
    <Execution {...props} page={page} />
  ) : (
    <GraphExecution {...props} page={page} />
  );
}

interface LoadedProps extends RowProps {
  readonly page: ColumnPage;
}

function GraphExecution({ store, page, place, attributes, columns }: LoadedProps) {
  const row = graphExecutionRow(page, place - page.begin);
  const isInput = store.inputGraphExecutions.value.has(row.index);
  const isInside = row.owner !== undefined && row.owner === store.execution.value;
  return (
    <div
      {...attributes}
      role="row"
      class={`row list-row level nowrap ${row.summary.bad ? "row-bad" : ""} ${isInput ? "row-input" : ""} ${isInside ? "row-inside" : ""}`}
      aria-selected={store.graphExecution.value === row.index}
      data-testid="graph-executions-row"
      data-index={row.index}
      onClick={() => store.focusRow(row)}
    >
      {columns.map(({ id }) => GRAPH_EXECUTION_CELLS[id]?.(row, store))}
    </div>
  );
}

function Execution({ store, page, place, attributes, columns }: LoadedProps) {
  const row = executionRow(page, place - page.begin);
  const isBad = row.health === "bad" || row.callHealth === "bad";
  return (
    <div
      {...attributes}
      role="row"
      class={`row list-row level nowrap ${isBad ? "row-bad" : ""}`}
      aria-selected={store.execution.value === row.index}
      data-testid="executions-row"
      data-index={row.index}
      onClick={() => store.focusExecution(row.index)}
    >
      {columns.map(({ id }) => EXECUTION_CELLS[id]?.(row, store))}
    </div>
  );
}
