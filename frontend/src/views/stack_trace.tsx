/** The stack that made the focus: the user's frames open, library frames folded. */
import { useState } from "preact/hooks";
import { shown } from "../base/loaded";
import { counted } from "../base/text";
import { displayName } from "../model/names";
import { fileName } from "../model/source_files";
import { type Frame, foldStack } from "../model/stack";
import { Button, Failure, Hint, Panel } from "./panel";
import type { Of, With } from "./props";

export function StackTrace({
  store,
}: With<"stack" | typeof Folded | typeof StackFrame | typeof Subject | typeof emptyWords>) {
  const loaded = store.stack.value;
  const frames = shown(loaded);
  return (
    <Panel title="Stack trace" className="stack" note={<Subject store={store} />}>
      {loaded?.kind === "failed" ? (
        <Failure message={loaded.message} />
      ) : frames === undefined ? (
        <Hint>{emptyWords(store)}</Hint>
      ) : (
        <ol class="frames grow scroll">
          {foldStack(frames).map((part) =>
            part.kind === "frame" ? (
              <StackFrame key={part.frame.id} store={store} frame={part.frame} />
            ) : (
              <Folded key={part.frames[0]?.id} store={store} frames={part.frames} />
            ),
          )}
        </ol>
      )}
    </Panel>
  );
}

function emptyWords(store: Of<"execution" | "neighbourhood" | "op" | "stack">): string {
  if (store.stack.value !== undefined) return "Loading …";
  const nothing = store.execution.value === undefined && store.op.value === undefined;
  if (nothing) return "Choose an execution or a tensor to see the line of your program that made it.";
  const kind = store.neighbourhood.value?.kind;
  if (kind === "failed") return "It is not known, because the rest could not be loaded.";
  return kind === "loading" ? "Loading …" : "No stack was recorded for it.";
}

function Subject({ store }: With<"execution" | "executionData" | "op" | "subject">) {
  if (store.subject.value === "op") {
    const op = store.op.value;
    return op === undefined ? null : <span title={op.opName}>creation of {op.opName}</span>;
  }
  const data = shown(store.executionData.value);
  if (data === undefined || store.execution.value === undefined) return null;
  return (
    <span>
      execution #{store.execution.value} {displayName(data.op_type)}
    </span>
  );
}

function Folded({ store, frames }: With<typeof StackFrame, { frames: readonly Frame[] }>) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <li>
        <Button class="folded" aria-expanded={open} act={() => setOpen(!open)}>
          <span aria-hidden="true">{open ? "▾" : "▸"}</span> {counted(frames.length, "library frame")}
        </Button>
      </li>
      {open && frames.map((frame) => <StackFrame key={frame.id} store={store} frame={frame} />)}
    </>
  );
}

function StackFrame({ store, frame }: With<"files.cells" | "shownFrame" | "focusFrame", { frame: Frame }>) {
  const current = store.shownFrame.value?.id === frame.id;
  return (
    <li>
      <Button
        class={`frame ${frame.isLibrary ? "frame-library" : ""}`}
        aria-current={current ? "true" : undefined}
        testId="stack-frame"
        title={`${frame.path}:${frame.line}`}
        act={() => store.focusFrame(frame.id)}
      >
        <span class="frame-place ends nowrap">
          <b>{frame.func}</b>
          <span class="frame-file cut">
            {fileName(frame.path, store.files.cells.value)}:{frame.line}
          </span>
        </span>
        {frame.text !== undefined && frame.text.trim() !== "" && (
          <code class="line-text">{frame.text.trim()}</code>
        )}
      </Button>
    </li>
  );
}
