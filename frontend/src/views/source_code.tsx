/** The recorded source file of the stack frame in focus, at its line, with what its lines made. */
import { useRef, useState } from "preact/hooks";
import type { SourceFile } from "../api/answers";
import type { FrameId } from "../base/ids";
import { shown } from "../base/loaded";
import { basename } from "../base/text";
import { type SourceLine, shownLines } from "../model/source";
import { editorLink, fileName } from "../model/source_files";
import { filesOf } from "../model/stack";
import { lazy } from "./lazy";
import { Button, Failure, Hint, IconButton, Panel } from "./panel";
import type { With } from "./props";
import { Editor } from "./source/editor";

const SourceFiles = lazy(
  async () => (await import("./source/files")).SourceFiles,
  () => null,
);

type Uses =
  | "source"
  | typeof AllFiles
  | typeof Editor
  | typeof Files
  | typeof Path
  | typeof SourceFiles
  | typeof Tools;

export function SourceCode({ store }: With<Uses>) {
  const position = store.sourceLine.value;
  const loaded = store.source.value;
  const [finds, setFinds] = useState(0);
  const isOpen = store.files.isOpen.value;
  const wasOpen = useRef(false);
  wasOpen.current ||= isOpen;
  const isText = position !== undefined && position.file !== undefined && !nothingOf(shown(loaded), position);
  return (
    <Panel
      title="Source code"
      className="source"
      note={position !== undefined && !isOpen && <Path store={store} position={position} />}
      tools={
        <div class="tools slim">
          {isText && !isOpen && <Tools store={store} position={position} find={() => setFinds(finds + 1)} />}
          <AllFiles store={store} toggled={() => setFinds(0)} />
        </div>
      }
    >
      {isOpen ? (
        <SourceFiles store={store} />
      ) : position === undefined ? (
        <Hint>Choose a line in the stack trace to see it in its file.</Hint>
      ) : !isText ? (
        <NotRecorded position={position} />
      ) : loaded?.kind === "failed" ? (
        <Failure message={loaded.message} />
      ) : (
        <Editor store={store} position={position} finds={finds} setFinds={setFinds} wasOpen={wasOpen} />
      )}
    </Panel>
  );
}

function AllFiles({ store, toggled }: With<"files.isOpen" | "files.show", { toggled: () => void }>) {
  const isOpen = store.files.isOpen.value;
  return (
    <Button
      class="small"
      aria-pressed={isOpen}
      title="All recorded files, and a search in them"
      testId="all-files"
      act={() => {
        toggled();
        store.files.show(!isOpen);
      }}
      text="All files"
    />
  );
}

function Path({ store, position: { path } }: With<"files.cells", { position: SourceLine }>) {
  const cell = store.files.cells.value.get(path);
  return (
    <span class="path cut" data-testid="source-path" title={path}>
      <bdi>{cell === undefined ? path : `${cell} of the notebook`}</bdi>
    </span>
  );
}

interface ToolsProps extends With<"files.isLinked" | typeof Files> {
  readonly position: SourceLine;
  readonly find: () => void;
}

function Tools({ store, position, find }: ToolsProps) {
  const link = store.files.isLinked.value ? editorLink(position.path, position.line) : undefined;
  return (
    <>
      {link !== undefined && (
        // In the window of the host, because a frame may not leave for another program.
        <a
          class="icon link"
          href={link}
          target="_top"
          rel="noreferrer"
          aria-label={`Open line ${position.line} in VS Code`}
          title={`Open line ${position.line} in VS Code`}
          data-testid="open-in-editor"
        >
          ↗
        </a>
      )}
      <IconButton label="Find in this file (Ctrl+F in the code)" text="⌕" act={find} testId="find-button" />
      <Files store={store} />
    </>
  );
}

function nothingOf(file: SourceFile | undefined, position: SourceLine): boolean {
  return file?.file_path === position.path && shownLines(file.lines, file.excerpts).length === 0;
}

function NotRecorded({ position }: { readonly position: SourceLine }) {
  return (
    <div class="hint">
      The text of {basename(position.path)} was not recorded. The line is {position.line}
      {position.text === undefined ? "." : ":"}
      {position.text !== undefined && <code class="line-text">{position.text.trim()}</code>}
    </div>
  );
}

/** The files of the stack, the user's first; choosing one goes to its innermost frame. */
function Files({ store }: With<"files.cells" | "focusFrame" | "sourceLine" | "stack">) {
  const files = filesOf(shown(store.stack.value) ?? []);
  const here = files.find(({ path }) => path === store.sourceLine.value?.path);
  if (files.length < 2 || here === undefined) return null;
  const group = (label: string, isLibrary: boolean) => {
    const members = files.filter((file) => file.isLibrary === isLibrary);
    return (
      members.length > 0 && (
        <optgroup label={label}>
          {members.map((file) => (
            <option key={file.id} value={file.id} selected={file === here}>
              {fileName(file.path, store.files.cells.value)}
            </option>
          ))}
        </optgroup>
      )
    );
  };
  return (
    <select
      class="choice"
      aria-label="Files of the stack"
      onChange={(event) => store.focusFrame(event.currentTarget.value as FrameId)}
    >
      {group("Your files", false)}
      {group("Libraries", true)}
    </select>
  );
}
