/** The keys of a program that runs, which are those of other debuggers. They work in fields too. */
import { type Action, readOnlyWords, refusals } from "../../model/live/program";
import type { Of } from "../props";
import { focusedPlace } from "./focused_place";

export const KEY_OF: Readonly<Partial<Record<Action | "breakpoint", string>>> = {
  step: "F11",
  stepOver: "F10",
  stepOut: "Shift+F11",
  continue: "F8",
  breakpoint: "F9",
};

/** What the keys of the buttons do. */
const ACTS: readonly { readonly action: Action; readonly act: (live: Of<"live">["live"]) => unknown }[] = [
  { action: "step", act: (live) => live.step() },
  { action: "stepOver", act: (live) => live.stepOver() },
  { action: "stepOut", act: (live) => live.stepOut() },
  { action: "continue", act: (live) => live.continueUntil() },
];

/** Takes a key; whether it was one of these, and a program runs. */
export function takeLiveKey(event: KeyboardEvent, store: Of<"live" | typeof toggle>): boolean {
  const { live } = store;
  const program = live.program.value;
  if (program === undefined || program === live.gone.value) return false;
  const key = `${event.shiftKey ? "Shift+" : ""}${event.key}`;
  const found = ACTS.find(({ action }) => KEY_OF[action] === key);
  if (found !== undefined) {
    if (refusals(program, live.readOnly.value)[found.action] === undefined) void found.act(live);
    return true;
  }
  if (key !== KEY_OF.breakpoint) return false;
  if (readOnlyWords(program, live.readOnly.value) === undefined) toggle(store, event);
  return true;
}

/** Toggles the breakpoint at the line with the cursor, else at the op or the line in focus. */
function toggle(store: Of<"live" | typeof focusedPlace>, event: KeyboardEvent): void {
  const where = focusedPlace(store, event.target);
  if (where !== undefined) void store.live.toggle(where);
}
