/**
 * The part of the store about the comparison of the run in focus with another one. It is asked for once both are
 * read, and again when the reader wants it. The first difference comes into focus when the reader chose the
 * other run on the page.
 */
import { computed, effect, type ReadonlySignal, untracked } from "@preact/signals";
import { shown } from "../../base/loaded";
import { differenceInFocus, sideTarget } from "../../model/comparison";
import type { Target } from "../../model/neighbourhood";
import type { Deps } from "../deps";
import { ready } from "../derived/keyed";
import type { LiveFacts } from "../live/facts";
import type { Timer } from "../timer";
import type { Choice } from "../verbs/choice";
import type { Verbs } from "../verbs/verbs";
import { type Compared, createCompared, createHistories } from "./answers";
import { type ComparisonFacts, createComparisonFacts } from "./facts";
import { createComparisonVerbs } from "./verbs";

export interface ComparisonDeps extends Deps, Pick<Verbs, "follow" | "focusPath" | "selectRun"> {
  readonly timer: Timer;
  readonly choice: Choice;
  readonly dock: LiveFacts["dock"];
  /** What is in focus. */
  readonly focusTarget: ReadonlySignal<Target>;
}

export function createComparison(deps: ComparisonDeps) {
  const own = createComparisonFacts();
  const compared = createCompared(deps, own);
  const histories = createHistories(deps, own, compared);
  return {
    ...own,
    other: deps.facts.other,
    compared,
    histories,
    /** The listed difference that is about what is in focus. */
    inFocus: computed(() =>
      differenceInFocus(shown(compared.value)?.answer.tensors ?? [], deps.focusTarget.value),
    ),
    ...createComparisonVerbs(deps, own, histories),
    /** Begins to follow the choice of a run and its answer; returns a function that ends it. */
    start(): () => void {
      const stops = [effect(() => openDock(deps)), effect(() => showFirst(deps, own, ready(compared.value)))];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** The panel is open when there is a comparison. */
function openDock({ facts, dock }: ComparisonDeps): void {
  const isThere = facts.other.value !== undefined;
  if (isThere) dock.value = "comparison";
  else if (dock.peek() === "comparison") dock.value = undefined;
}

/** Brings the first difference of a new answer into focus, unless the reader chose something meanwhile. */
function showFirst(
  { facts, choice, follow }: ComparisonDeps,
  own: ComparisonFacts,
  compared: Compared | undefined,
): void {
  if (compared === undefined) return;
  const isWanted = untracked(() => own.awaited.value === choice.latest() || !facts.touched.value);
  own.awaited.value = undefined;
  const first = compared.answer.first_difference?.first;
  if (first !== undefined && isWanted) untracked(() => follow(sideTarget(first)));
}
