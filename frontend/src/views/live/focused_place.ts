/** The place of the focus as a breakpoint: the line with the cursor, or the op, call or line in focus. */
import type { Where } from "../../api/live";
import { shown } from "../../base/loaded";
import { atCalls, atLine, atOp, atType } from "../../model/live/places";
import { isFunctionName } from "../../model/names";
import type { Of } from "../props";

type Uses = "executionData" | "line" | "op" | "opInfo" | "sourceLine" | "subject";

/** `target` is the element with the keyboard focus. */
export function focusedPlace(store: Of<Uses>, target: EventTarget | null): Where | undefined {
  const line = store.sourceLine.value;
  const path = line?.path ?? "";
  const cursor = cursorLine(target);
  if (cursor !== undefined && path !== "") return atLine(path, cursor);
  const op = store.line.value === undefined ? focusedOp(store) : undefined;
  return op ?? (line === undefined || path === "" ? undefined : atLine(path, line.line));
}

/** The line with the cursor of the source editor, which says it at its element. */
function cursorLine(target: EventTarget | null): number | undefined {
  const editor = target instanceof Element ? target.closest<HTMLElement>("[data-cursor-line]") : null;
  const line = Number(editor?.dataset.cursorLine);
  return line > 0 ? line : undefined;
}

/** The op of a graph, or the eager op or call, in focus. */
export function focusedOp(store: Of<Uses>): Where | undefined {
  if (store.subject.value === "op") {
    const op = store.op.value;
    return op && atOp(op.opName, shown(store.opInfo.value)?.graph_name);
  }
  const data = shown(store.executionData.value);
  if (data === undefined) return undefined;
  return isFunctionName(data.op_type) ? atCalls(data.op_type) : atType(data.op_type);
}
