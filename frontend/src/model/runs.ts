/** The names of the runs below the logdir, as the page shows them. */
import type { Runs } from "../api/answers";
import { type RunName, runName } from "../base/ids";
import { markOf } from "./verdict";

export interface RunTitle {
  readonly name: RunName;
  readonly title: string;
  /** What is known of the run, before its title: ✓, ✗ or !. */
  readonly mark: string;
}

/** In the order of the answer. */
export function runTitles(runs: Runs | undefined): readonly RunTitle[] {
  return [...(runs ?? [])].map(([name, { title, verdict }]) => ({
    name: runName(name),
    title,
    mark: markOf(verdict),
  }));
}

/** The title of a run, or its name if it is not listed. */
export function titleOf(runs: Runs | undefined, name: RunName): string {
  return runs?.get(name)?.title ?? name;
}
