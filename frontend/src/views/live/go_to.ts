/** Goes to the place of a breakpoint in the recording: its line or its op. */
import type { Where } from "../../api/live";
import type { Store } from "../../store/store";

/** Whether the place is one in the recording; a pattern is many. */
export function isOnePlace({ path, op_name }: Where): boolean {
  return path !== "" || op_name !== "";
}

export function goTo(store: Store, { path, line, op_name, function_regex }: Where): void {
  if (path !== "") void store.focusPath(path, line);
  else if (op_name !== "") void store.focusOpNamed(op_name, function_regex);
}
