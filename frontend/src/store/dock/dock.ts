/** The panel over the timeline and the list of graph executions, such as one of a program, or the comparison. */
import { computed, signal } from "@preact/signals";
import { setter } from "../common/activity";

/** The panels that can be opened. */
export type DockName =
  | "glance"
  | "timeline"
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
  /** What the reader, or what came up, has opened; undefined until then. */
  const chosen = signal<{ readonly panel: DockName | undefined } | undefined>(undefined);
  const first = signal<DockName | undefined>(undefined);
  const areKeysShown = signal(false);
  return {
    /** The panel that is open; undefined shows the recording alone. */
    open: computed(() => (chosen.value === undefined ? first.value : chosen.value.panel)),
    /** The panel that was chosen; undefined for the recording, and before any was. */
    chosen: computed(() => chosen.value?.panel),
    /** Opens a panel; without a name, the recording. */
    show(panel: DockName | undefined): void {
      chosen.value = { panel };
    },
    /** Whether the list of all keys is over the page. */
    areKeysShown,
    showKeys: setter(areKeysShown),
    /** Opens a panel until another one is chosen. */
    showFirst: setter(first),
  };
}
