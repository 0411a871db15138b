/** The recorded source file of the stack frame in focus, at its line, with what its lines made. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SourceFile } from "../api/answers";
import type { FrameId } from "../base/ids";
import { sentence, shown } from "../base/loaded";
import { basename } from "../base/text";
import { atLine, lineMarks } from "../model/live/places";
import { mayEdit } from "../model/live/program";
import { positionOfLine, type ShownLine, type SourceLine, shownLines } from "../model/source";
import { editorLink, fileName, type MadeMark, madeMarks } from "../model/source_files";
import { filesOf } from "../model/stack";
import { useChange } from "./hooks";
import { lazy } from "./lazy";
import { Button, Failure, Hint, IconButton, Panel } from "./panel";
import type { Of, Takes, With } from "./props";
import type { EditorEvents, SourceEditor } from "./source_editor";

const SourceFiles = lazy(
  async () => (await import("./source/files")).SourceFiles,
  () => null,
);
const LineOpsList = lazy(async () => (await import("./source/line_ops")).LineOpsList);
const FindBar = lazy(async () => (await import("./source/find_bar")).FindBar);

type Uses = Takes<
  "files" | "live.program" | "live.readOnly" | "live.state",
  "shownFrame" | "source" | "sourceLine" | "stack" | typeof LineOpsList,
  "focusFrame" | "live.toggle" | "track"
>;

export function SourceCode({ store }: With<Uses>) {
  const position = store.sourceLine.value;
  const loaded = store.source.value;
  const [finds, setFinds] = useState(0);
  const isOpen = store.files.isOpen.value;
  const isText = position !== undefined && position.file !== undefined && !nothingOf(shown(loaded), position);
  return (
    <Panel
      title="Source code"
      className="source"
      note={position !== undefined && !isOpen && <Path store={store} position={position} />}
      tools={
        <div class="tools slim">
          {isText && !isOpen && <Tools store={store} position={position} find={() => setFinds(finds + 1)} />}
          <Button
            class="small"
            aria-pressed={isOpen}
            title="All recorded files, and a search in them"
            testId="all-files"
            act={() => store.files.show(!isOpen)}
            text="All files"
          />
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
        <Editor store={store} position={position} finds={finds} setFinds={setFinds} />
      )}
    </Panel>
  );
}

function Path({ store, position: { path } }: With<"files", { position: SourceLine }>) {
  const cell = store.files.cells.value.get(path);
  return (
    <span class="path cut" data-testid="source-path" title={path}>
      <bdi>{cell === undefined ? path : `${cell} of the notebook`}</bdi>
    </span>
  );
}

function Tools({ store, position, find }: With<Uses, { position: SourceLine; find: () => void }>) {
  const link = store.files.isLinked.value ? editorLink(position.path, position.line) : undefined;
  return (
    <>
      {link !== undefined && (
        // In the window of the host, because a frame may not leave for another program.
        <a class="link nowrap" href={link} target="_top" rel="noreferrer" data-testid="open-in-editor">
          Open in the editor
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
function Files({ store }: With<Uses>) {
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

interface EditorProps extends With<Uses> {
  readonly position: SourceLine;
  /** How often the reader asked to search in the file; 0 while there is no search. */
  readonly finds: number;
  readonly setFinds: (times: number) => void;
}

function Editor({ store, position, finds, setFinds }: EditorProps) {
  const parent = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<number>();
  const latest = useRef({ find: () => {} });
  latest.current.find = () => setFinds(finds + 1);
  const { editor, failure } = useEditor(store, parent, {
    choose: store.files.listLine,
    moved: setCursor,
    find: () => latest.current.find(),
  });
  const lines = useText(store, position, editor);
  const marks = useMade(store, editor);
  useBreakpoints(store, position, editor);
  const listed = shown(store.files.lineOps.value)?.find(({ line }) => line === store.files.listedLine.value);
  const leave = () => {
    setFinds(0);
    editor?.focus();
  };
  if (failure !== undefined) return <Failure message={`The source view could not be loaded. ${failure}`} />;
  return (
    <>
      {finds > 0 && editor !== undefined && (
        <FindBar
          store={store}
          lines={lines}
          from={positionOfLine(lines, position.line) ?? 1}
          times={finds}
          show={editor.find}
          close={leave}
        />
      )}
      <div class="editor short grow" ref={parent} />
      <span class="unseen" role="status" data-testid="source-cursor">
        {cursorWords(cursor, marks)}
      </span>
      {listed !== undefined && <LineOpsList store={store} made={listed} leave={() => editor?.focus()} />}
    </>
  );
}

/** What a screen reader hears of the line with the cursor, because the gutters are only for the eye. */
function cursorWords(line: number | undefined, marks: ReadonlyMap<number, MadeMark>): string {
  const mark = line === undefined ? undefined : marks.get(line);
  if (mark !== undefined) return `${mark.words}. Enter lists them.`;
  return line === undefined ? "" : `line ${line}`;
}

function useEditor(store: Of<"track">, parent: { current: HTMLElement | null }, events: EditorEvents) {
  const [editor, setEditor] = useState<SourceEditor>();
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    let made: SourceEditor | undefined;
    let gone = false;
    store
      .track(import("./source_editor"))
      .then(({ createEditor }) => {
        if (gone || parent.current === null) return;
        made = createEditor(parent.current, events);
        setEditor(made);
      })
      .catch((error: unknown) => setFailure(sentence(error)));
    return () => {
      gone = true;
      made?.destroy();
    };
  }, []);
  return { editor, failure };
}

/** Shows the text of the file at its line; returns its lines. */
function useText(store: Of<Uses>, position: SourceLine, editor: SourceEditor | undefined) {
  const file = shown(store.source.value);
  const lines = useMemo(() => (file === undefined ? NONE : shownLines(file.lines, file.excerpts)), [file]);
  useChange(() => {
    if (file === undefined || editor === undefined || file.file_path !== position.path) return;
    const stack = (shown(store.stack.value) ?? [])
      .filter(({ path }) => path === position.path)
      .map(({ line }) => line);
    editor.show(lines, position.line, new Set(stack));
  }, [editor, file, store.shownFrame.value?.id, position.path, position.line]);
  return lines as readonly ShownLine[];
}

/** Shows what the lines of the file made; returns their marks. */
function useMade({ files }: Of<"files">, editor: SourceEditor | undefined): ReadonlyMap<number, MadeMark> {
  const made = shown(files.lineOps.value) ?? NONE;
  const marks = useMemo(() => madeMarks(made), [made]);
  const listed = files.listedLine.value;
  useChange(() => editor?.count({ marks, listed }), [editor, marks, listed]);
  return marks;
}

/** Shows breakpoints at the lines while a program runs; a click or F9 sets and removes them. */
function useBreakpoints(store: Of<Uses>, { path }: SourceLine, editor: SourceEditor | undefined): void {
  const { program, state, readOnly } = store.live;
  const isLive = program.value !== undefined && path !== "";
  const breakpoints = state.value?.breakpoints ?? NONE;
  const made = isLive ? (shown(store.files.lineOps.value) ?? NONE) : NONE;
  const mayChange = mayEdit(program.value, readOnly.value);
  const marks = useMemo(() => lineMarks(breakpoints, path, made), [breakpoints, path, made]);
  const text = JSON.stringify([...marks]);
  useChange(() => {
    const toggle = (line: number) => {
      if (mayChange) void store.live.toggle(atLine(path, line));
    };
    editor?.mark(isLive ? { marks, toggle } : undefined);
  }, [editor, isLive, mayChange, path, text]);
}

const NONE: readonly never[] = [];
