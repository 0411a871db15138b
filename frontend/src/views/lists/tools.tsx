/** What changes how a list is shown: columns, files, and a field that leads to a row. */
import { useState } from "preact/hooks";
import type { ListName } from "../../api/routes";
import { executionIndex, graphExecutionIndex } from "../../base/ids";
import { isLong } from "../../model/inventory";
import { exportedColumns } from "../../model/list_columns";
import { Popover } from "../popover";
import type { Takes, With } from "../props";
import type { Columns } from "./use_columns";

type Uses = Takes<
  "focusExecution" | "focusGraphExecution" | "onlyBad" | "setOnlyBad" | "shownList" | "status",
  "tables.address" | "tables.text"
>;

interface ToolsProps extends With<Uses> {
  readonly columns: Columns;
  /** Called when the reader goes to a row by its number. */
  readonly onJump: () => void;
}

export function Tools(props: ToolsProps) {
  const { store, columns } = props;
  const list = store.shownList.value;
  return (
    <div class="tools">
      {list !== "executions" && (
        <label class="toggle level nowrap">
          <input
            type="checkbox"
            checked={store.onlyBad.value}
            onChange={(event) => store.setOnlyBad(event.currentTarget.checked)}
          />
          Only NaN/∞
        </label>
      )}
      <Popover label="Columns" className="small" title="Columns of the list" isOver testId="list-columns">
        {() => <ColumnMenu columns={columns} />}
      </Popover>
      <Popover
        className="small"
        isOver
        label="Save"
        title="The rows that are shown as a file or a text"
        testId="list-save"
      >
        {() => <SaveMenu store={store} columns={columns} />}
      </Popover>
      {isLong(list) && <Jump {...props} list={list} />}
    </div>
  );
}

function ColumnMenu({ columns }: { readonly columns: Columns }) {
  const shown = new Set(columns.shown.map(({ id }) => id));
  return (
    <>
      {columns.offered.map(({ id, title, words }) => (
        <label key={id} class="line menu-item">
          <input
            type="checkbox"
            checked={shown.has(id)}
            disabled={shown.size === 1 && shown.has(id)}
            onChange={() => columns.toggle(id)}
          />
          <span class="bold">{title}</span>
          <span class="dim cut nowrap">{words}</span>
        </label>
      ))}
      <button type="button" class="link menu-item" data-testid="list-columns-reset" onClick={columns.reset}>
        As at first
      </button>
    </>
  );
}

type Copied = "copying" | { readonly rows: number } | { readonly failure: string };

function SaveMenu({ store, columns }: With<Uses, { columns: Columns }>) {
  const [copied, setCopied] = useState<Copied>();
  const names = exportedColumns(columns.shown);
  const copy = async () => {
    setCopied("copying");
    const answer = await store.tables.text(names);
    if ("failure" in answer) return setCopied(answer);
    const isCopied = await toClipboard(answer.text);
    const rows = Math.max(0, answer.text.trimEnd().split("\n").length - 1);
    setCopied(isCopied ? { rows } : { failure: "The browser does not let the page copy." });
  };
  return (
    <>
      <a class="link menu-item" href={store.tables.address(names, "csv")} download data-testid="save-csv">
        CSV file
      </a>
      <a
        class="link menu-item"
        href={store.tables.address(names, "parquet")}
        download
        data-testid="save-parquet"
      >
        Parquet file
      </a>
      <button type="button" class="link menu-item" data-testid="save-copy" onClick={() => void copy()}>
        Copy as text
      </button>
      <p class="dim menu-item" role="status">
        {copied === undefined ? "At most a million rows in a file, 5,000 in a copy." : copiedWords(copied)}
      </p>
    </>
  );
}

function copiedWords(copied: Copied): string {
  if (copied === "copying") return "Copying …";
  return "failure" in copied ? copied.failure : `Copied ${copied.rows.toLocaleString("en-US")} rows.`;
}

/** Frames of other origins have no clipboard; then the text is selected and copied as a reader would. */
async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.querySelector(".menu-box")?.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}

function Jump({ store, list, onJump }: ToolsProps & { readonly list: ListName }) {
  const jump = (event: Event) => {
    event.preventDefault();
    const { num_executions = 0, num_graph_executions = 0 } = store.status.value ?? {};
    const all = list === "executions" ? num_executions : num_graph_executions;
    const row = rowOfForm(event.currentTarget as HTMLFormElement, all);
    if (row === undefined) return;
    if (list === "executions") store.focusExecution(executionIndex(row));
    else void store.focusGraphExecution(graphExecutionIndex(row));
    onJump();
  };
  return (
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
  );
}

/** The row that the reader typed, or the last one; undefined without a number or without rows. */
function rowOfForm(form: HTMLFormElement, all: number): number | undefined {
  const typed = String(new FormData(form).get("row") ?? "");
  const text = typed.replaceAll(",", "").trim();
  return /^\d+$/.test(text) && all > 0 ? Math.min(all - 1, Number(text)) : undefined;
}
