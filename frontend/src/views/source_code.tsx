/** The recorded source file of the stack frame in focus, at its line. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { SourceFile } from "../api/routes";
import type { FrameId } from "../base/ids";
import { sentence, shown } from "../base/loaded";
import { basename } from "../base/text";
import { shownLines } from "../model/source";
import { type Frame, filesOf } from "../model/stack";
import type { Store } from "../store/store";
import { useChange } from "./hooks";
import { Failure, Hint, Panel } from "./panel";
import type { SourceEditor } from "./source_editor";

export function SourceCode({ store }: { readonly store: Store }) {
  const frame = store.shownFrame.value;
  const loaded = store.source.value;
  return (
    <Panel
      title="Source code"
      className="source"
      note={
        frame !== undefined && (
          <span class="path" data-testid="source-path" title={frame.path}>
            <bdi>{frame.path}</bdi>
          </span>
        )
      }
      tools={<Files store={store} />}
    >
      {frame === undefined ? (
        <Hint>Choose a line in the stack trace to see it in its file.</Hint>
      ) : frame.file === undefined || nothingOf(shown(loaded), frame) ? (
        <NotRecorded frame={frame} />
      ) : loaded?.kind === "failed" ? (
        <Failure message={loaded.message} />
      ) : (
        <Editor store={store} frame={frame} />
      )}
    </Panel>
  );
}

function nothingOf(file: SourceFile | undefined, frame: Frame): boolean {
  return file?.file_path === frame.path && shownLines(file.lines, file.excerpts).length === 0;
}

function NotRecorded({ frame }: { readonly frame: Frame }) {
  return (
    <div class="hint">
      The text of {basename(frame.path)} was not recorded. The line is {frame.line}
      {frame.text === undefined ? "." : ":"}
      {frame.text !== undefined && <code class="line-text">{frame.text.trim()}</code>}
    </div>
  );
}

/** The files of the stack, the user's first; choosing one goes to its innermost frame. */
function Files({ store }: { readonly store: Store }) {
  const files = filesOf(shown(store.stack.value) ?? []);
  const here = files.find(({ path }) => path === store.shownFrame.value?.path);
  if (files.length < 2 || here === undefined) return null;
  const group = (label: string, library: boolean) => {
    const members = files.filter((file) => file.library === library);
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
      class="files"
      aria-label="Files of the stack"
      onChange={(event) => store.focusFrame(event.currentTarget.value as FrameId)}
    >
      {group("Your files", false)}
      {group("Libraries", true)}
    </select>
  );
}

function Editor({ store, frame }: { readonly store: Store; readonly frame: Frame }) {
  const place = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<SourceEditor>();
  const [failure, setFailure] = useState<string>();
  const file = shown(store.source.value);

  useEffect(() => {
    let made: SourceEditor | undefined;
    let gone = false;
    store
      .track(import("./source_editor"))
      .then(({ createEditor }) => {
        if (gone || place.current === null) return;
        made = createEditor(place.current);
        setEditor(made);
      })
      .catch((error: unknown) => setFailure(sentence(error)));
    return () => {
      gone = true;
      made?.destroy();
    };
  }, []);

  useChange(() => {
    if (file === undefined || editor === undefined || file.file_path !== frame.path) return;
    const lines = (shown(store.stack.value) ?? [])
      .filter(({ path }) => path === frame.path)
      .map(({ line }) => line);
    editor.show(shownLines(file.lines, file.excerpts), frame.line, new Set(lines));
  }, [editor, file, frame.id, frame.line]);

  return failure === undefined ? (
    <div class="editor" ref={place} />
  ) : (
    <Failure message={`The source view could not be loaded. ${failure}`} />
  );
}
