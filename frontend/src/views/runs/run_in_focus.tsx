/** The run in focus, below the list: its note, its report and its lists as files. */
import type { Note } from "../../api/answers";
import type { ListName } from "../../api/routes";
import type { RunName } from "../../base/ids";
import { shown } from "../../base/loaded";
import { titleOf } from "../../model/runs";
import { Failure, Hint } from "../panel";
import type { Takes, With } from "../props";

type Uses = Takes<
  "run" | "runs",
  "runList.draft" | "runList.drafts" | "runList.failure" | "runList.note" | "runList.write",
  "runList.exportAddress" | "runList.reportAddress"
>;

/** The server takes notes of this length. */
const MOST = 10_000;

export function RunInFocus({ store }: With<Uses>) {
  const run = store.run.value;
  if (run === undefined) return null;
  return (
    <section class="run-in-focus fixed" aria-label="Run in focus" data-testid="run-in-focus">
      <div class="line wrap">
        <h2 class="cut grow">{titleOf(shown(store.runs.value), run)}</h2>
        <Files store={store} run={run} />
      </div>
      <NoteField store={store} run={run} />
    </section>
  );
}

const LISTS: Readonly<Record<ListName, string>> = {
  graph_executions: "graph executions",
  executions: "executions",
};

function Files({ store, run }: With<Uses, { run: RunName }>) {
  const { reportAddress, exportAddress } = store.runList;
  return (
    <>
      <span class="dim">Report</span>
      <File address={reportAddress(run, "html")} name="HTML" title="Report as HTML" testId="report-html" />
      <File
        address={reportAddress(run, "markdown")}
        name="Markdown"
        title="Report as Markdown"
        testId="report-markdown"
      />
      {(Object.keys(LISTS) as ListName[]).map((list) => (
        <span key={list} class="line">
          <span class="dim runs-of">Export {LISTS[list]}</span>
          {(["csv", "parquet"] as const).map((format) => (
            <File
              key={format}
              address={exportAddress(run, list, format)}
              name={format === "csv" ? "CSV" : "Parquet"}
              title={`All ${LISTS[list]}, at most a million, as ${format === "csv" ? "CSV" : "Parquet"}`}
              testId={`export-${list}-${format}`}
            />
          ))}
        </span>
      ))}
    </>
  );
}

interface FileProps {
  readonly address: string;
  readonly name: string;
  readonly title: string;
  readonly testId: string;
}

function File({ address, name, title, testId }: FileProps) {
  return (
    <a class="small" href={address} download title={title} aria-label={title} data-testid={testId}>
      {name}
    </a>
  );
}

function NoteField({ store, run }: With<Uses, { run: RunName }>) {
  const loaded = store.runList.note.value;
  const note = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (note === undefined) return <Hint>Loading the note …</Hint>;
  return <NoteForm store={store} run={run} note={note} />;
}

function NoteForm({ store, run, note }: With<Uses, { run: RunName; note: Note }>) {
  const { drafts, draft, write, failure } = store.runList;
  const text = drafts.value.get(run) ?? note.note;
  const isFixed = note.why_fixed !== "";
  const isChanged = text.trim() !== note.note;
  return (
    <form
      class="note pile"
      onSubmit={(event) => {
        event.preventDefault();
        void write(run, text, note.note);
      }}
    >
      <textarea
        class="framed wide"
        rows={3}
        aria-label="Note on the run"
        placeholder="What you found out about this run"
        maxLength={MOST}
        readOnly={isFixed}
        value={text}
        data-testid="note"
        onInput={(event) => draft(run, event.currentTarget.value)}
      />
      <div class="line wrap">
        <button type="submit" class="small" disabled={!isChanged || isFixed} data-testid="note-save">
          Save the note
        </button>
        <span class="dim" role="status" data-testid="note-status">
          {note.why_fixed || noteWords(note, isChanged)}
        </span>
      </div>
      {failure.value !== undefined && <Failure message={failure.value} />}
    </form>
  );
}

function noteWords({ note, file }: Note, isChanged: boolean): string {
  if (isChanged) return `Not saved yet. It is kept in ${file}, in the folder of the run.`;
  return note === "" ? "" : `Saved in ${file}, in the folder of the run.`;
}
