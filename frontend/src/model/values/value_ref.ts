/** Which records may hold a value, and the short text that names one in a link: `t12`, `e3.1`, `l5.program`. */
import type { ValueRef } from "../../api/values";
import { executionIndex, graphExecutionIndex, liveTensorNumber, programId } from "../../base/ids";
import type { Summary } from "../health";

/** The number of the mode FULL_TENSOR in the event files. */
export const FULL_TENSOR = 7;

/** Whether the record that a summary is of may hold the tensor itself. */
export function mayHoldValue(summary: Summary | undefined): boolean {
  return summary?.mode === FULL_TENSOR;
}

/** The value of a graph execution; undefined when its record holds none. */
export function refOf(summary: Summary | undefined): ValueRef | undefined {
  const graphExecution = summary?.graphExecution;
  return graphExecution === undefined || !mayHoldValue(summary)
    ? undefined
    : { kind: "graph_execution", index: graphExecution };
}

export function writeRef(ref: ValueRef): string {
  switch (ref.kind) {
    case "graph_execution":
      return `t${ref.index}`;
    case "execution":
      return `e${ref.index}.${ref.slot}`;
    case "live":
      return `l${ref.tensor}.${ref.program}`;
  }
}

export function readRef(text: string): ValueRef | undefined {
  const graphExecution = /^t(\d{1,15})$/.exec(text);
  if (graphExecution !== null)
    return { kind: "graph_execution", index: graphExecutionIndex(Number(graphExecution[1])) };
  const live = /^l(\d{1,16})\.(.{1,500})$/.exec(text);
  if (live !== null)
    return { kind: "live", tensor: liveTensorNumber(Number(live[1])), program: programId(live[2] ?? "") };
  const output = /^e(\d{1,15})\.(\d{1,9})$/.exec(text);
  if (output === null) return undefined;
  return { kind: "execution", index: executionIndex(Number(output[1])), slot: Number(output[2]) };
}

export function isSameRef(a: ValueRef | undefined, b: ValueRef | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && writeRef(a) === writeRef(b));
}
