/** The answers of the server about two runs. A comparison waits until the files of both are read. */
import type { Comparison } from "../../api/comparison";
import { RouteError } from "../../api/fetch";
import type { ValueRef } from "../../api/values";
import type { RunName } from "../../base/ids";
import { shown } from "../../base/loaded";
import type { Target } from "../../model/neighbourhood";
import type { RunFacts } from "../run/run";
import { createByKey, ready } from "../run/run";
import type { ComparisonDeps, ComparisonFacts, Output } from "./facts";

/** Seconds between two looks at a run that is being read. */
const LOOK_EVERY = 1;
const NOT_READY = 503;
/** Comparisons that are kept. */
const KEPT = 4;

/** An answer, and whether no run can grow any more. */
export interface Compared {
  readonly answer: Comparison;
  readonly isFinal: boolean;
}

export type ComparedSignal = ReturnType<typeof createCompared>;

export function createCompared(deps: ComparisonDeps, own: ComparisonFacts) {
  const { api, facts } = deps;
  const { reading } = own;
  return createByKey(deps)(
    () => bothRuns(facts, own),
    async ({ run, other, tolerance }, abort): Promise<Compared> => {
      reading.value = undefined;
      const first = await whenRead(deps, own, run, abort);
      const second = await whenRead(deps, own, other, abort);
      reading.value = undefined;
      return { answer: await api.compare(run, other, tolerance, abort), isFinal: first && second };
    },
    KEPT,
  );
}

/** What an answer depends on. A run that is recorded anew has another start. */
function bothRuns(facts: RunFacts, { edition, tolerance }: ComparisonFacts) {
  const [run, other] = [facts.run.value, facts.other.value];
  if (run === undefined || other === undefined) return undefined;
  const runs = shown(facts.runs.value);
  const starts = [run, other].map((name) => runs?.get(name)?.start_time);
  return { run, other, starts, edition: edition.value, tolerance: tolerance.value };
}

/**
 * Waits until the files of a run are read, as far as there are any, or until the reader does not want to wait;
 * returns whether it has finished.
 */
async function whenRead(
  { api, timer }: ComparisonDeps,
  { reading, isHurried }: ComparisonFacts,
  run: RunName,
  abort: AbortSignal,
): Promise<boolean> {
  for (;;) {
    try {
      const { loading, finished } = await api.status(run);
      if (loading === undefined) return finished === true;
      if (isHurried.peek()) return false;
      reading.value = { run, share: loading.bytes_done / Math.max(1, loading.bytes_total) };
    } catch (error) {
      if (!(error instanceof RouteError) || error.status !== NOT_READY) throw error;
      reading.value = { run, share: undefined };
    }
    await new Promise<void>((resolve) => timer.after(LOOK_EVERY, resolve));
    if (abort.aborted) throw new Error("Another comparison was chosen.");
  }
}

/** The histories of what is in focus; asked for after the comparison, which finds what belongs together. */
export function createHistories(deps: ComparisonDeps, own: ComparisonFacts, compared: ComparedSignal) {
  const { api, facts, focusTarget, dock } = deps;
  return createByKey(deps)(
    () => {
      const runs = bothRuns(facts, own);
      const ref = refOfTarget(focusTarget.value, own.output.value);
      const isSeen = ready(compared.value) !== undefined && dock.open.value === "comparison";
      return runs === undefined || ref === undefined || !isSeen ? undefined : { ...runs, ref };
    },
    ({ run, other, ref, tolerance }, abort) => api.histories(run, other, ref, tolerance, abort),
  );
}

/** The value that is in focus; undefined for an op without one. */
function refOfTarget(target: Target, output: Output | undefined): ValueRef | undefined {
  if (target.kind === "op")
    return target.graphExecution === undefined
      ? undefined
      : { kind: "graph_execution", index: target.graphExecution };
  if (target.kind === "nowhere") return undefined;
  const slot = output?.index === target.index ? output.slot : 0;
  return { kind: "execution", index: target.index, slot };
}
