/**
 * The part of the store about the comparison of the run in focus with another one. It is asked for once both are
 * read, and again when the reader wants it. The first difference comes into focus when the reader chose the
 * other run on the page.
 */
import { batch, computed, effect, untracked } from "@preact/signals";
import type { Histories, Side } from "../../api/comparison";
import type { RunName } from "../../base/ids";
import { shown } from "../../base/loaded";
import { differenceInFocus, sideTarget } from "../../model/comparison";
import { rowTarget } from "../../model/two_histories";
import { setter, together } from "../common/activity";
import { ready } from "../run/run";
import { type Compared, createCompared, createHistories } from "./answers";
import { type ComparisonDeps, type ComparisonFacts, createComparisonFacts, type Output } from "./facts";

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
      return together([
        effect(() => followOther(deps)),
        effect(() => showFirst(deps, own, ready(compared.value))),
      ]);
    },
  };
}

/** The panel is open when there is a comparison. */
function followOther({ facts, dock }: ComparisonDeps): void {
  const isThere = facts.other.value !== undefined;
  if (isThere) dock.show("comparison");
  else if (dock.open.peek() === "comparison") dock.show(undefined);
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

export function createComparisonVerbs(
  deps: ComparisonDeps,
  own: ComparisonFacts,
  histories: ReturnType<typeof createHistories>,
) {
  return {
    ...createRunsVerbs(deps, own, histories),
    ...createPlaceVerbs(deps, own),
    /** Chooses the number whose history is drawn. */
    draw: setter(own.number),
  };
}

/** Which runs are compared, and how. */
function createRunsVerbs(
  { facts, choice, selectRun, follow }: ComparisonDeps,
  own: ComparisonFacts,
  histories: ReturnType<typeof createHistories>,
) {
  return {
    /** Compares the run in focus with another one; without one, the comparison is closed. */
    compareWith(run: RunName | undefined): void {
      choice.make();
      batch(() => {
        facts.other.value = run;
        own.isHurried.value = false;
        own.awaited.value = run === undefined ? undefined : choice.latest();
      });
    },
    /** Brings the other run into focus, at the same tensor; that run is compared with the first one then. */
    turnRound(): void {
      const other = facts.other.peek();
      const side = shown(histories.peek())?.second;
      if (other === undefined) return;
      selectRun(other);
      if (side !== undefined) {
        own.output.value = outputOf(side);
        follow(sideTarget(side));
      }
    },
    /** Asks anew, since a run has grown. */
    compareAgain(): void {
      own.edition.value++;
    },
    /** Compares what is read until now. */
    hurry(): void {
      own.isHurried.value = true;
    },
    /** Allows another relative difference; without one, that of rounding and depth. */
    allow: setter(own.tolerance),
  };
}

function createPlaceVerbs({ follow, focusPath }: ComparisonDeps, own: ComparisonFacts) {
  return {
    /** Goes to a tensor of the run in focus. */
    goTo(side: Side): void {
      batch(() => {
        own.output.value = outputOf(side);
        follow(sideTarget(side));
      });
    },
    /** Goes to an occurrence of the tensor whose histories are shown. */
    goToRow(histories: Histories, row: number): void {
      const target = rowTarget(histories, row);
      const { output_slot: slot } = histories.first;
      if (target.kind === "execution") own.output.value = { index: target.index, slot };
      follow(target);
    },
    /** Shows a line of the user's own code. */
    showLine({ source }: Side): void {
      if (source !== undefined) focusPath(source.path, source.line);
    },
  };
}

function outputOf({ op_name, execution_index: index, output_slot: slot }: Side): Output | undefined {
  return op_name === undefined && index !== undefined ? { index, slot } : undefined;
}
