/** Values that a debugger changed while the program was stopped at them. */
import type { ChangedValue } from "../api/answers";
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

/** A sentence about each change, one a line. */
export function changesText(changes: readonly ChangedValue[]): string {
  const said = changes.map(
    ({ op_name, slot, expression }) => `${tensorName(op_name, slot)} was set to ${expression}`,
  );
  return `A debugger changed this while the program was stopped; the numbers are those before.\n${said.join("\n")}`;
}
