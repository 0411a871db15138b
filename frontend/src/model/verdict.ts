/** Words before a first cause, marks of verdicts, and the state of a run. */
import type { Diagnosis, Status, Verdict } from "../api/answers";
import { gapsOf } from "./gaps";

/** The mark of a verdict before the name of its run; empty where nothing is to be said. */
export function markOf(verdict: Verdict | undefined): string {
  if (verdict?.is_good === true) return "✓ ";
  return verdict?.kind === "bad" ? "✗ " : verdict?.kind === "rules" ? "! " : "";
}

/** The words before the diagnosis of the first cause, which need not be the first alert, nor bad. */
export function firstCauseLabel({ index, alert }: Diagnosis): string {
  return (index ?? 0) === 0 && alert?.bad !== false ? "First bad value: " : "First cause: ";
}

/** The state of the recording. */
export interface RunState {
  readonly kind: "done" | "live" | "unknown" | "stopped";
  readonly text: string;
  readonly why: string;
}

/** `isSilent` is true when nothing was recorded for a while. */
export function stateOf(status: Status, isSilent: boolean): RunState {
  const severe = gapsOf(status).find((gap) => gap.severe);
  if (severe !== undefined) return { kind: "stopped", text: severe.title, why: severe.message };
  if (status.finished === true)
    return { kind: "done", text: "finished", why: "The program ended its recording." };
  if (status.finished === undefined)
    return {
      kind: "unknown",
      text: "recorded",
      why: "Whether the program still runs is not known; new data come by themselves.",
    };
  return isSilent
    ? {
        kind: "unknown",
        text: "not ended",
        why: "Nothing new has come for a while, and the program did not end its recording: it computes nothing that is recorded, or it was killed. New data come by themselves.",
      }
    : { kind: "live", text: "live", why: "The program is still recording; new data come by themselves." };
}
