/** The recorded source file of the stack frame in focus, at its line. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SourceFile } from "../api/answers";
import type { FrameId } from "../base/ids";
import { sentence, shown } from "../base/loaded";
import { basename } from "../base/text";
import { atLine, lineMarks } from "../model/live/places";
import { mayEdit } from "../model/live/program";
import { type SourceLine, shownLines } from "../model/source";
import { filesOf } from "../model/stack";
import { useChange } from "./hooks";
import { Failure, Hint, Panel } from "./panel";
import type { Of, Takes, With } from "./props";
import type { SourceEditor } from "./source_editor";

type Uses = Takes<
  "live.lineOps" | "live.program" | "live.readOnly" | "live.state",
  "shownFrame" | "source" | "sourceLine" | "stack",
  "focusFrame" | "live.toggle" | "track"
>;

export function SourceCode({ store }: With<Uses>) {
  const position = store.sourceLine.value;
  const loaded = store.source.value;
  return (
    <Panel
      title="Source code"
      className="source"
      note={
        position !== undefined && (
          <span class="path cut" data-testid="source-path" title={position.path}>
            <bdi>{position.path}</bdi>
          </span>
        )
      }
      tools={<Files store={store} />}
    >
      {position === undefined ? (
        <Hint>Choose a line in the stack trace to see it in its file.</Hint>
      ) : position.file === undefined || nothingOf(shown(loaded), position) ? (
        <NotRecorded position={position} />
      ) : loaded?.kind === "failed" ? (
        <Failure message={loaded.message} />
      ) : (
        <Editor store={store} position={position} />
      )}
    </Panel>
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
              {basename(file.path)}
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

function Editor({ store, position }: With<Uses, { position: SourceLine }>) {
  const parent = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<SourceEditor>();
  const [failure, setFailure] = useState<string>();
  const file = shown(store.source.value);

  useEffect(() => {
    let made: SourceEditor | undefined;
    let gone = false;
    store
      .track(import("./source_editor"))
      .then(({ createEditor }) => {
        if (gone || parent.current === null) return;
        made = createEditor(parent.current);
        setEditor(made);
      })
      .catch((error: unknown) => setFailure(sentence(error)));
    return () => {
      gone = true;
      made?.destroy();
    };
  }, []);

  useChange(() => {
    if (file === undefined || editor === undefined || file.file_path !== position.path) return;
    const lines = (shown(store.stack.value) ?? [])
      .filter(({ path }) => path === position.path)
      .map(({ line }) => line);
    editor.show(shownLines(file.lines, file.excerpts), position.line, new Set(lines));
  }, [editor, file, store.shownFrame.value?.id, position.path, position.line]);

  useBreakpoints(store, position, editor);

  return failure === undefined ? (
    <div class="editor short grow" ref={parent} />
  ) : (
    <Failure message={`The source view could not be loaded. ${failure}`} />
  );
}

/** Shows breakpoints at the lines while a program runs; a click or F9 sets and removes them. */
function useBreakpoints(store: Of<Uses>, { path }: SourceLine, editor: SourceEditor | undefined): void {
  const { program, state, readOnly } = store.live;
  const isLive = program.value !== undefined && path !== "";
  const breakpoints = state.value?.breakpoints ?? NONE;
  const made = isLive ? (shown(store.live.lineOps.value) ?? NONE) : NONE;
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
