/** The list of all runs: search, order, what is known of each, and two that are compared; below it, one run. */
import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, counted, grouped } from "../../base/text";
import { rowOfKey } from "../../model/keys";
import { ageWords, type RunColumn, type RunRow } from "../../model/runs";
import { Button, Hint } from "../panel";
import type { Takes, With } from "../props";
import { RunInFocus } from "./run_in_focus";

type Uses = Takes<
  "run" | "selectRun",
  "runList.all" | "runList.chosen" | "runList.open" | "runList.order" | "runList.pair" | "runList.rows",
  "runList.choose" | "runList.compare" | "runList.search" | "runList.sortBy" | "runList.text",
  typeof RunInFocus
>;

/** The rows that are drawn at first. */
const DRAWN = 200;
/** The rows that a page key goes along. */
const PAGE = 10;

interface ListProps extends With<Uses> {
  readonly close: () => void;
}

export function RunList({ store, close }: ListProps) {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    root.current?.querySelector<HTMLElement>("[type=search]")?.focus();
    return store.runList.open();
  }, []);
  const open = (row: RunRow) => {
    close();
    if (row.name !== store.run.peek()) store.selectRun(row.name);
  };
  return (
    <div
      ref={root}
      class="runs pile"
      role="group"
      aria-label="All runs"
      data-testid="runs"
      onKeyDown={(event) => walk(event, root.current)}
    >
      <Tools store={store} close={close} open={open} />
      <Table store={store} open={open} />
      <RunInFocus key={store.run.value} store={store} />
    </div>
  );
}

/** The arrow keys go from the field to the rows and along them. */
function walk(event: KeyboardEvent, root: HTMLElement | null): void {
  const target = event.target as HTMLElement;
  if (target.closest("thead, textarea") !== null || root === null) return;
  const isField = target.closest("[type=search]") !== null;
  if (isField && event.key !== "ArrowDown") return;
  const rows = [...root.querySelectorAll<HTMLElement>("tbody tr")];
  const from = rows.findIndex((row) => row.contains(target));
  if (from < 0 && !isField) return;
  const to = rowOfKey(event.key, { arrows: "down", from, page: PAGE, last: rows.length - 1 });
  if (to === undefined) return;
  event.preventDefault();
  const at = to < 0 ? root.querySelector<HTMLElement>("[type=search]") : undefined;
  (at ?? rows[Math.min(to, rows.length - 1)]?.querySelector<HTMLElement>(".run-name"))?.focus();
}

interface ToolsProps extends ListProps {
  readonly open: (row: RunRow) => void;
}

function Tools({ store, close, open }: ToolsProps) {
  const { rows, text, search } = store.runList;
  return (
    <div class="runs-tools line wrap fixed ruled raised">
      <input
        type="search"
        class="framed grow"
        placeholder="Search runs by name, verdict, mode or state"
        aria-label="Search runs"
        value={text.value}
        data-testid="runs-search"
        onInput={(event) => search(event.currentTarget.value)}
        onKeyDown={(event) => {
          const first = rows.value[0];
          if (event.key !== "Enter" || first === undefined) return;
          // The key would press the button that has the focus then.
          event.preventDefault();
          open(first);
        }}
      />
      <Count store={store} />
      <Compare store={store} close={close} />
    </div>
  );
}

function Count({ store }: With<Uses>) {
  const [found, all] = [store.runList.rows.value.length, store.runList.all.value.length];
  return (
    <span class="dim nowrap" role="status">
      {found === all ? counted(all, "run") : `${grouped(found)} of ${counted(all, "run")}`}
    </span>
  );
}

function Compare({ store, close }: ListProps) {
  const { pair, compare } = store.runList;
  const both = pair.value;
  const act = () => {
    close();
    if (both !== undefined) compare(both);
  };
  return (
    <Button
      class="small"
      title={
        both === undefined
          ? "Tick two runs, or one to compare with the run in focus"
          : `Compares ${both.join(" with ")}`
      }
      disabled={both === undefined}
      testId="runs-compare"
      act={act}
      text="Compare"
    />
  );
}

interface Column {
  readonly id: RunColumn;
  readonly title: string;
  readonly words: string;
  readonly isNumber?: boolean;
}

const COLUMNS: readonly Column[] = [
  { id: "title", title: "run", words: "path below the logdir" },
  { id: "badge", title: "verdict", words: "what is to be said of the run" },
  { id: "mode", title: "mode", words: "mode of the recording" },
  { id: "bytes", title: "size", words: "bytes of its files", isNumber: true },
  {
    id: "age",
    title: "written",
    words: "when its files last changed: the age of the last record",
    isNumber: true,
  },
  { id: "processes", title: "processes", words: "how many processes recorded it", isNumber: true },
  { id: "state", title: "state", words: "what its program does now" },
];

function Table({ store, open }: With<Uses, { open: (row: RunRow) => void }>) {
  const [isWhole, setWhole] = useState(false);
  const rows = store.runList.rows.value;
  const drawn = isWhole ? rows : rows.slice(0, DRAWN);
  if (rows.length === 0) return <Hint>No run has these words.</Hint>;
  return (
    <div class="runs-table scroll short">
      <table class="wide">
        <thead>
          <tr class="dim">
            <th scope="col">
              <span class="unseen">compare</span>
            </th>
            {COLUMNS.map((column) => (
              <Head key={column.id} store={store} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {drawn.map((row) => (
            <Row key={row.name} store={store} row={row} open={open} />
          ))}
        </tbody>
      </table>
      {drawn.length < rows.length && (
        <p class="hint">
          <Button act={() => setWhole(true)} text={`… ${grouped(rows.length - drawn.length)} more`} />
        </p>
      )}
    </div>
  );
}

function Head({ store, column }: With<Uses, { column: Column }>) {
  const { order, sortBy } = store.runList;
  const isSorted = order.value.column === column.id;
  const direction = order.value.isDescending ? "descending" : "ascending";
  return (
    <th scope="col" class={column.isNumber ? "num" : ""} aria-sort={isSorted ? direction : undefined}>
      <Button class="runs-head" title={column.words} act={() => sortBy(column.id)}>
        {column.title}
        <span aria-hidden="true">{isSorted ? (order.value.isDescending ? " ↓" : " ↑") : ""}</span>
      </Button>
    </th>
  );
}

function Row({ store, row, open }: With<Uses, { row: RunRow; open: (row: RunRow) => void }>) {
  const isInFocus = row.name === store.run.value;
  return (
    <tr
      class={isInFocus ? "runs-row runs-focused" : "runs-row"}
      aria-current={isInFocus ? "true" : undefined}
      data-testid="runs-row"
      onClick={() => open(row)}
    >
      <td onClick={(event) => event.stopPropagation()}>
        <input
          type="checkbox"
          aria-label={`Compare ${row.title}`}
          checked={store.runList.chosen.value.includes(row.name)}
          onChange={() => store.runList.choose(row.name)}
        />
      </td>
      <th scope="row">
        <Button
          class="run-name link cut nowrap"
          title={row.title}
          act={(event) => {
            event.stopPropagation();
            open(row);
          }}
          text={row.title}
        />
      </th>
      <Facts row={row} />
    </tr>
  );
}

function Facts({ row }: { readonly row: RunRow }) {
  const { badge, headline, mode, bytes: size, age, processes, state } = row;
  return (
    <>
      <td class="cut nowrap" title={headline}>
        <span class={badge.look}>{badge.mark + badge.words}</span>
        {headline !== "" && <span class="dim"> · {headline}</span>}
      </td>
      <td class="dim cut">{mode ?? "–"}</td>
      <td class="num">{size === undefined ? "–" : bytes(size)}</td>
      <td class="num nowrap">{age === undefined ? "–" : ageWords(age)}</td>
      <td class="num">{processes ?? "–"}</td>
      <td class={state === "" ? "dim" : "good"}>{state || "–"}</td>
    </>
  );
}
