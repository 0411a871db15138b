/** The panel over the timeline and the list of graph executions: one of a program, or the comparison. */
import { signal } from "@preact/signals";
import { setter } from "../common/activity";

/** The panels that can be opened. */
export type DockName =
  | "graph"
  | "gradients"
  | "comparison"
  | "breakpoints"
  | "tensors"
  | "ops"
  | "calls"
  | "curves"
  | "evaluate";

export type Dock = ReturnType<typeof createDock>;

export function createDock() {
  /** The panel that is open; undefined shows the recording alone. */
  const open = signal<DockName | undefined>(undefined);
  return {
    open,
    /** Opens a panel; without a name, the recording. */
    show: setter(open),
  };
}
