/** The facts about the comparison of two runs. Only the requests and the verbs of this folder change them. */

import { type ReadonlySignal, signal } from "@preact/signals";
import type { ExecutionIndex, RunName } from "../../base/ids";
import type { Target } from "../../model/neighbourhood";
import type { HistoryNumber } from "../../model/two_histories";
import type { Timer } from "../common/activity";
import type { Dock } from "../dock/dock";
import type { Choice, FocusFacts } from "../focus/facts";
import type { FocusVerbs } from "../focus/verbs";
import type { Deps, RunFacts } from "../run/run";

/** A run that is being read. */
export interface Reading {
  readonly run: RunName;
  /** From 0 to 1; undefined until it is known. */
  readonly share: number | undefined;
}

/** The output of an execution. */
export interface Output {
  readonly index: ExecutionIndex;
  readonly slot: number;
}

export type ComparisonFacts = ReturnType<typeof createComparisonFacts>;

export function createComparisonFacts() {
  return {
    /** Rises when the reader wants a new answer. */
    edition: signal(0),
    /** The relative difference that the reader allows; undefined for that of rounding and depth. */
    tolerance: signal<number | undefined>(undefined),
    /** The run that is waited for; undefined while none is. */
    reading: signal<Reading | undefined>(undefined),
    /** Whether runs are compared before all of their files is read. */
    isHurried: signal(false),
    /** The number of the choice with which the reader began; undefined when the first difference was shown. */
    awaited: signal<number | undefined>(undefined),
    /** The number whose history is drawn, if the tensor has it. */
    number: signal<HistoryNumber>("mean"),
    /** The output that the reader chose of an execution. */
    output: signal<Output | undefined>(undefined),
  };
}

export interface ComparisonDeps extends Deps<RunFacts & FocusFacts>, Pick<FocusVerbs, "follow"> {
  readonly timer: Timer;
  readonly choice: Choice;
  readonly dock: Dock;
  focusPath(path: string, line: number): void;
  selectRun(run: RunName): void;
  /** What is in focus. */
  readonly focusTarget: ReadonlySignal<Target>;
}
