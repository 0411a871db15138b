/** Marks a recorded value that a debugger changed, and counts all such values of a run. */
import type { Status } from "../api/answers";
import { counted } from "../base/text";
import { changesOf, changesText, type Recorded } from "../model/changed_values";
import type { With } from "./props";

export function ChangedTag({ store, of }: With<"status", { of: Recorded }>) {
  const changes = changesOf(store.status.value?.changed_values ?? [], of);
  if (changes.length === 0) return null;
  return (
    <span class="tag tag-changed" title={changesText(changes)} data-testid="changed-value">
      changed
    </span>
  );
}

/** The number of values that were changed; what follows them is not what the program computes by itself. */
export function ChangedCount({ status }: { readonly status: Status }) {
  const changes = status.changed_values;
  if (changes.length === 0) return null;
  return (
    <span class="dropped" title={changesText(changes)} data-testid="status-changed-values">
      {counted(changes.length, "value")} changed
    </span>
  );
}
