/** What is above the list of graph executions: its filters, and a field that leads to a row. */
import { graphExecutionIndex } from "../base/ids";
import { processWords } from "../model/processes";
import { Choice, plainOptions } from "./choice";
import type { With } from "./props";

interface ToolsProps extends With<"onlyBad" | "focusGraphExecution" | "setOnlyBad" | typeof HostFilter> {
  readonly total: number;
  readonly withLayer: boolean;
  /** Called when the reader goes to a row by its number. */
  readonly onJump: () => void;
}

export function Tools({ store, total, withLayer, onJump }: ToolsProps) {
  const jump = (event: Event) => {
    event.preventDefault();
    const all = store.status.value?.num_graph_executions ?? total;
    const row = rowOfForm(event.currentTarget as HTMLFormElement, all);
    if (row === undefined) return;
    void store.focusGraphExecution(graphExecutionIndex(row));
    onJump();
  };
  return (
    <div class="tools">
      <HostFilter store={store} />
      <LayerFilter store={store} withLayer={withLayer} />
      <label class="toggle level">
        <input
          type="checkbox"
          checked={store.onlyBad.value}
          onChange={(event) => store.setOnlyBad(event.currentTarget.checked)}
        />
        Only NaN/∞
      </label>
      <form onSubmit={jump}>
        <input
          class="jump framed"
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

/** The row that the reader typed, or the last one; undefined without a number or without rows. */
function rowOfForm(form: HTMLFormElement, all: number): number | undefined {
  const typed = String(new FormData(form).get("row") ?? "");
  const text = typed.replaceAll(",", "").trim();
  return /^\d+$/.test(text) && all > 0 ? Math.min(all - 1, Number(text)) : undefined;
}

/** The processes of the run, if there are several. */
function HostFilter({ store }: With<"filter" | "status" | "setFilter">) {
  const filter = store.filter.value;
  const hosts = store.status.value?.hosts ?? [];
  if (hosts.length <= 1) return null;
  const { label, all } = processWords(hosts);
  return (
    <Choice
      options={[{ value: "", title: all }, ...plainOptions([...new Set(hosts)])]}
      value={filter.host ?? ""}
      choose={(host) => store.setFilter({ ...filter, host })}
      label={label}
    />
  );
}

interface LayerFilterProps extends With<"filter" | "setFilter"> {
  /** Whether the run has layers. */
  readonly withLayer: boolean;
}

function LayerFilter({ store, withLayer }: LayerFilterProps) {
  const filter = store.filter.value;
  if (!withLayer && filter.layer === undefined) return null;
  return (
    <input
      class="filter framed"
      placeholder="Layer"
      aria-label="Only layers whose path holds this (a regular expression)"
      title="Only layers whose path holds this (a regular expression)"
      autocomplete="off"
      value={filter.layer ?? ""}
      onChange={(event) => store.setFilter({ ...filter, layer: event.currentTarget.value.trim() })}
    />
  );
}
