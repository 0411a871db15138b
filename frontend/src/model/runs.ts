/** The names of the runs below the logdir, as the page shows them. */
import type { Runs } from "../api/answers";
import { type RunName, runName } from "../base/ids";

export interface RunTitle {
  readonly name: RunName;
  readonly title: string;
}

/** In the order of the answer. */
export function runTitles(runs: Runs | undefined): readonly RunTitle[] {
  return [...(runs ?? [])].map(([name, { title = name }]) => ({ name: runName(name), title }));
}

/** The title of a run, or its name if it is not listed. */
export function titleOf(runs: Runs | undefined, name: RunName): string {
  return runs?.get(name)?.title ?? name;
}
