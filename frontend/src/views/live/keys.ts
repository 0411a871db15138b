/** The keys of a program that runs, which are those of other debuggers. They work in fields too. */
import { readOnlyWords, refusals } from "../../model/live/program";
import type { Of } from "../props";
import { focusedPlace } from "./focused_place";

export const KEY_OF: Readonly<Record<string, string | undefined>> = {
  step: "F11",
  stepOver: "F10",
  continue: "F8",
  breakpoint: "F9",
};

/** Takes a key; whether it was one of these, and a program runs. */
export function takeLiveKey(event: KeyboardEvent, store: Of<"live" | typeof toggle>): boolean {
  const { live } = store;
  const program = live.program.value;
  if (program === undefined || event.shiftKey || program === live.gone.value) return false;
  const why = refusals(program, live.readOnly.value);
  switch (event.key) {
    case "F11":
      if (why.step === undefined) void live.step();
      return true;
    case "F10":
      if (why.stepOver === undefined) void live.stepOver();
      return true;
    case "F8":
      if (why.continue === undefined) void live.continueUntil();
      return true;
    case "F9":
      if (readOnlyWords(program, live.readOnly.value) === undefined) toggle(store, event);
      return true;
    default:
      return false;
  }
}

/** Toggles the breakpoint at the line with the cursor, else at the op or the line in focus. */
function toggle(store: Of<"live" | typeof focusedPlace>, event: KeyboardEvent): void {
  const where = focusedPlace(store, event.target);
  if (where !== undefined) void store.live.toggle(where);
}
