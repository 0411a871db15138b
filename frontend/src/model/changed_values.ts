/** Values that a debugger changed while the program was stopped at them. */
import type { ChangedValue } from "../api/answers";
import type { ValueRef } from "../api/values";
import { tensorName } from "./names";

/** A record in one of the lists; a slot is one output of an execution. */
export interface Recorded {
  readonly graphExecution?: number | undefined;
  readonly execution?: number | undefined;
  readonly slot?: number | undefined;
}

/** The changes of a recorded value, or of any output of an execution without a slot. */
export function changesOf(all: readonly ChangedValue[], { graphExecution, execution, slot }: Recorded) {
  return all.filter((one) =>
    graphExecution !== undefined
      ? one.graph_execution === graphExecution
      : execution !== undefined && one.execution === execution && (slot === undefined || one.slot === slot),
  );
}

/** The record of a value in its list. */
export function recordOf(ref: Exclude<ValueRef, { readonly kind: "live" }>): Recorded {
  return ref.kind === "execution" ? { execution: ref.index, slot: ref.slot } : { graphExecution: ref.index };
}

/** The changes by the execution that they were made in: of an eager op, or inside a call. */
export function changesByExecution(all: readonly ChangedValue[]) {
  const found = new Map<number, ChangedValue[]>();
  for (const one of all) {
    const at = one.execution ?? one.owner_execution_index;
    if (at !== undefined) found.set(at, [...(found.get(at) ?? []), one]);
  }
  return found as ReadonlyMap<number, readonly ChangedValue[]>;
}

/** A sentence about each change, one a line. */
export function changesText(changes: readonly ChangedValue[]): string {
  const said = changes.map(
    ({ op_name, slot, expression }) => `${tensorName(op_name, slot)} was set to ${expression}`,
  );
  return `A debugger changed this while the program was stopped; the numbers are those before.\n${said.join("\n")}`;
}
