/** The code of a file with what its lines made, the search in it, and the ops of the listed line. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { sentence, shown } from "../../base/loaded";
import { atLine, lineMarks } from "../../model/live/places";
import { mayEdit } from "../../model/live/program";
import { positionOfLine, type ShownLine, type SourceLine, shownLines } from "../../model/source";
import { type MadeMark, madeMarks } from "../../model/source_files";
import { useChange } from "../hooks";
import { lazy } from "../lazy";
import { Failure } from "../panel";
import type { Of, Takes, With } from "../props";
import type { EditorEvents, SourceEditor } from "./source_editor";

const LineOpsList = lazy(async () => (await import("./line_ops")).LineOpsList);
const FindBar = lazy(async () => (await import("./find_bar")).FindBar);

type Uses = Takes<
  "files.lineOps" | "files.listLine" | "files.listedLine" | typeof LineOpsList,
  "live.program" | "live.readOnly" | "live.state" | "live.toggle",
  "shownFrame" | "source" | "stack" | "track"
>;

interface EditorProps extends With<Uses> {
  readonly position: SourceLine;
  /** How often the reader asked to search in the file; 0 while there is no search. */
  readonly finds: number;
  readonly setFinds: (times: number) => void;
  /** Whether the files were listed in place of the code; it then takes the keyboard that they had. */
  readonly wasOpen: { current: boolean };
}

export function Editor({ store, position, finds, setFinds, wasOpen }: EditorProps) {
  const parent = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<number>();
  const find = useLatest(() => setFinds(finds + 1));
  const events = { choose: store.files.listLine, moved: setCursor, find };
  const { editor, failure } = useEditor(store, parent, events, wasOpen);
  const lines = useText(store, position, editor);
  const marks = useMade(store, editor);
  useBreakpoints(store, position, editor);
  const close = () => {
    setFinds(0);
    editor?.focus();
  };
  if (failure !== undefined) return <Failure message={`The source view could not be loaded. ${failure}`} />;
  const from = positionOfLine(lines, position.line) ?? 1;
  return (
    <>
      {finds > 0 && editor !== undefined && (
        <FindBar store={store} lines={lines} from={from} times={finds} show={editor.find} close={close} />
      )}
      <div class="editor short grow" ref={parent} />
      <span class="unseen" role="status" data-testid="source-cursor">
        {cursorWords(cursor, marks)}
      </span>
      <Listed store={store} editor={editor} />
    </>
  );
}

/** The ops of the line that the filter of a list is about. */
function Listed({ store, editor }: With<Uses, { editor: SourceEditor | undefined }>) {
  const listed = store.files.listedLine.value;
  const made = shown(store.files.lineOps.value)?.find(({ line }) => line === listed);
  if (made === undefined) return null;
  const drawn = () => editor?.reveal(made.line);
  return <LineOpsList store={store} made={made} drawn={drawn} leave={() => editor?.focus()} />;
}

/** A function that always calls the newest one that was given. */
function useLatest(act: () => void): () => void {
  const latest = useRef(act);
  latest.current = act;
  return () => latest.current();
}

/** What a screen reader hears of the line with the cursor, because the gutters are only for the eye. */
function cursorWords(line: number | undefined, marks: ReadonlyMap<number, MadeMark>): string {
  const mark = line === undefined ? undefined : marks.get(line);
  if (mark !== undefined) return `${mark.words}. Enter lists them.`;
  return line === undefined ? "" : `line ${line}`;
}

function useEditor(
  store: Of<"track">,
  parent: { current: HTMLElement | null },
  events: EditorEvents,
  wasOpen: { current: boolean },
) {
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
        if (wasOpen.current && document.activeElement === document.body) made.focus();
        wasOpen.current = false;
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
function useText(
  store: Of<Uses>,
  position: SourceLine,
  editor: SourceEditor | undefined,
): readonly ShownLine[] {
  const file = shown(store.source.value);
  const lines = useMemo(() => (file === undefined ? NONE : shownLines(file.lines, file.excerpts)), [file]);
  useChange(() => {
    if (file === undefined || editor === undefined || file.file_path !== position.path) return;
    const stack = (shown(store.stack.value) ?? [])
      .filter(({ path }) => path === position.path)
      .map(({ line }) => line);
    editor.show(lines, position.line, new Set(stack));
  }, [editor, file, store.shownFrame.value?.id, position.path, position.line]);
  return lines;
}

/** Shows what the lines of the file made; returns their marks. */
function useMade(
  { files }: Of<"files.lineOps" | "files.listedLine">,
  editor: SourceEditor | undefined,
): ReadonlyMap<number, MadeMark> {
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
