/** All recorded source files with what they made, and the lines of them with a text. */
import { useEffect, useRef } from "preact/hooks";
import type { FoundLine, SourceFileOps } from "../../api/answers";
import { shown } from "../../base/loaded";
import { compact, counted } from "../../base/text";
import { fileName, filesWith, madeWords, SIGNS, signOf } from "../../model/source_files";
import { Button, Failure, Hint } from "../panel";
import type { Takes, With } from "../props";
import { FindField } from "./find_bar";
import { moveInList } from "./move_in_list";

type Uses = Takes<
  "files.cells" | "files.counts" | "files.found" | "files.text",
  "files.isLinked" | "files.open" | "files.setLinked" | "files.show" | "files.type"
>;

/** Files that are listed at most of each kind. */
const MOST_FILES = 300;

export function SourceFiles({ store }: With<Uses>) {
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return moveInList(event);
    event.stopPropagation();
    store.files.show(false);
  };
  return (
    <div
      class="pile grow short"
      role="group"
      aria-label="All files"
      data-testid="source-files"
      onKeyDown={onKey}
    >
      <Field store={store} />
      <div class="scroll grow short">
        <Files store={store} />
        <Lines store={store} />
      </div>
      <Setting store={store} />
    </div>
  );
}

function Field({ store }: With<"files.text" | "files.type">) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  return (
    <search class="find-bar line raised fixed ruled">
      <FindField
        field={field}
        label="Find a file, or a text in all files"
        placeholder="Name of a file, or a text in any of them"
        testId="find-in-files"
        text={store.files.text.value}
        type={store.files.type}
      />
    </search>
  );
}

function Files({ store }: With<Uses>) {
  const loaded = store.files.counts.value;
  const all = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (all === undefined) return <Hint>Loading …</Hint>;
  if (all.length === 0) return <Hint>No source files are on record: TensorFlow's own dumps hold none.</Hint>;
  const files = filesWith(all, store.files.text.value, store.files.cells.value);
  const group = (title: string, members: readonly SourceFileOps[]) =>
    members.length > 0 && (
      <section aria-label={title}>
        <h3 class="source-kind bold dim">{`${title} (${members.length})`}</h3>
        <ul>
          {members.slice(0, MOST_FILES).map((file) => (
            <File key={file.index} store={store} file={file} />
          ))}
        </ul>
        {members.length > MOST_FILES && (
          <p class="source-row dim">and {counted(members.length - MOST_FILES, "other file")}</p>
        )}
      </section>
    );
  return (
    <>
      <span class="unseen" role="status">{`${counted(files.length, "file")} listed`}</span>
      {files.length === 0 && <Hint>No file has that name.</Hint>}
      {group(
        "Your files",
        files.filter(({ origin }) => origin === "user"),
      )}
      {group(
        "Libraries",
        files.filter(({ origin }) => origin !== "user"),
      )}
    </>
  );
}

function File({ store, file }: With<"files.cells" | "files.open", { file: SourceFileOps }>) {
  const { index, file_path: path, line, health, num_ops, executions, num_bad, bad_executions } = file;
  const sign = signOf(health);
  const bad = num_bad + bad_executions;
  const isUsed = num_ops + executions > 0;
  return (
    <li>
      <Button
        class="source-row line"
        title={`${path}\n${madeWords(file)}`}
        testId="source-file"
        act={() => store.files.open({ file: index, line })}
      >
        <span class={`sign sign-${sign}`} aria-hidden="true">
          {SIGNS[sign]}
        </span>
        <span class="nowrap fixed">{fileName(path, store.files.cells.value)}</span>
        <span class="ellipsis ellipsis-start slim dim">
          <bdi>{path}</bdi>
        </span>
        <span class="source-counts nowrap">
          {bad > 0 && <span class="bad">{`${compact(bad)} NaN/∞`} </span>}
          {isUsed && (
            <span class="dim">{num_ops > 0 ? counted(num_ops, "op") : counted(executions, "call")}</span>
          )}
        </span>
      </Button>
    </li>
  );
}

function Lines({ store }: With<"files.cells" | "files.found" | "files.open">) {
  const loaded = store.files.found.value;
  if (loaded === undefined) return null;
  if (loaded.kind === "failed") return <Failure message={loaded.message} />;
  const found = shown(loaded);
  if (found === undefined) return <Hint>Searching …</Hint>;
  const { text, lines, isCut } = found;
  const title = isCut ? `The first ${lines.length} lines` : counted(lines.length, "line");
  return (
    <section aria-label="Lines" data-testid="found-lines">
      <h3 class="source-kind bold dim">
        <span role="status">{`${title} with “${text}”`}</span>
      </h3>
      <ul>
        {lines.map((line) => (
          <Line key={`${line.index}:${line.line}`} store={store} line={line} />
        ))}
      </ul>
    </section>
  );
}

function Line({ store, line: found }: With<"files.cells" | "files.open", { line: FoundLine }>) {
  const { index, file_path: path, line, text } = found;
  return (
    <li>
      <Button
        class="source-row line"
        title={`${path}:${line}`}
        testId="found-line"
        act={() => store.files.open({ file: index, line })}
      >
        <span class="found-place nowrap fixed">{`${fileName(path, store.files.cells.value)}:${line}`}</span>
        <code class="line-text slim">{text.trim()}</code>
      </Button>
    </li>
  );
}

function Setting({ store }: With<"files.isLinked" | "files.setLinked">) {
  return (
    <label class="source-setting fixed dim">
      <input
        type="checkbox"
        checked={store.files.isLinked.value}
        data-testid="editor-links"
        onChange={(event) => store.files.setLinked(event.currentTarget.checked)}
      />{" "}
      Offer to open lines in VS Code on this machine
    </label>
  );
}
