/** The names of the runs below the logdir, as the page shows them. */
import type { Runs } from "../api/answers";
import { type RunName, runName } from "../base/ids";
import { markOf } from "./verdict";

export interface RunTitle {
  readonly name: RunName;
  readonly title: string;
  /** What is known of the run, before its title: ✓, ✗ or !. */
  readonly mark: string;
  /** Why nothing is known, after its title. */
  readonly note: string;
}

const NOTES: Readonly<Record<string, string>> = {
  judged: "",
  judging: " · being looked at …",
  failed: " · could not be looked at",
  unread: " · not opened yet",
};

/** In the order of the answer. */
export function runTitles(runs: Runs | undefined): readonly RunTitle[] {
  return [...(runs ?? [])].map(([name, { title, verdict, state }]) => ({
    name: runName(name),
    title,
    mark: markOf(verdict),
    note: NOTES[state] ?? "",
  }));
}

/** The title of a run, or its name if it is not listed. */
export function titleOf(runs: Runs | undefined, name: RunName): string {
  return runs?.get(name)?.title ?? name;
}
