/** Which records may hold a value, and the short text that names one in a link: `t12`, `e3.1`. */
import type { ValueRef } from "../../api/values";
import { executionIndex, graphExecutionIndex } from "../../base/ids";
import type { Summary } from "../health";

/** The number of the mode FULL_TENSOR in the event files. */
export const FULL_TENSOR = 7;

/** Whether the record that a summary is of may hold the tensor itself. */
export function mayHoldValue(summary: Summary | undefined): boolean {
  return summary?.mode === FULL_TENSOR;
}

/** The value of a graph execution; undefined when its record holds none. */
export function refOf(summary: Summary | undefined): ValueRef | undefined {
  const trace = summary?.trace;
  return trace === undefined || !mayHoldValue(summary)
    ? undefined
    : { kind: "graph_execution", index: trace };
}

export function writeRef(ref: ValueRef): string {
  return ref.kind === "graph_execution" ? `t${ref.index}` : `e${ref.index}.${ref.slot}`;
}

export function readRef(text: string): ValueRef | undefined {
  const trace = /^t(\d{1,15})$/.exec(text);
  if (trace !== null) return { kind: "graph_execution", index: graphExecutionIndex(Number(trace[1])) };
  const output = /^e(\d{1,15})\.(\d{1,9})$/.exec(text);
  if (output === null) return undefined;
  return { kind: "execution", index: executionIndex(Number(output[1])), slot: Number(output[2]) };
}

export function isSameRef(a: ValueRef | undefined, b: ValueRef | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && writeRef(a) === writeRef(b));
}
