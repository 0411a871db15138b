/** The verbs of the store: everything that a click, a key or a link can do. */

import { batch } from "@preact/signals";
import type { Origin } from "../../api/origins";
import type { AlertIndex, RunName } from "../../base/ids";
import { canMove, current, move, NO_HISTORY } from "../../model/history";
import type { Link } from "../../model/link";
import { originKey, placeTarget } from "../../model/origin";
import type { VerbDeps } from "../deps";
import type { Facts } from "../facts";
import { createAlertKeeping, createAlertVerbs } from "./alerts";
import type { Choice } from "./choice";
import { createFilterVerbs, type FilterVerbs } from "./filters";
import { createFocusVerbs, type FocusVerbs, rowAt, showSubject } from "./focus";
import { createSearchVerbs } from "./search";
import { createValueVerbs, type ValueVerbs } from "./values";

export type Verbs = ReturnType<typeof createVerbs>;

export function createVerbs(deps: VerbDeps, choice: Choice) {
  const { facts } = deps;
  const focus = createFocusVerbs(deps, choice);
  const filters = createFilterVerbs(facts);
  const values = createValueVerbs(facts);
  const { restoreAlert, setAlertType } = createAlertKeeping(deps, choice);
  return {
    ...focus,
    ...filters,
    ...values,
    ...createHistoryVerbs(deps, choice),
    ...createOriginVerbs(facts, focus),
    ...createAlertVerbs(deps, choice, focus),
    setAlertType,
    ...createSearchVerbs(deps, choice, focus, filters),
    ...createRunVerbs(facts, choice, focus, filters, { restoreAlert, ...values }),
    dismissProblem(): void {
      facts.problem.value = undefined;
    },
  };
}

export function createHistoryVerbs({ facts, lists }: VerbDeps, choice: Choice) {
  function moveBy(by: 1 | -1): void {
    const history = facts.history.peek();
    if (!canMove(history, by)) return;
    const op = current(move(history, by));
    batch(() => {
      facts.history.value = move(history, by);
      facts.alert.value = undefined;
      if (op?.graphExecution !== undefined) facts.graphExecution.value = op.graphExecution;
      showSubject(facts, "op");
    });
    if (op?.graphExecution === undefined) return;
    void choice.wait(rowAt(lists.peek(), op.graphExecution), ({ owner }) => {
      if (owner !== undefined) facts.execution.value = owner;
    });
  }

  return { back: () => moveBy(-1), forward: () => moveBy(1) };
}

export function createOriginVerbs(facts: Facts, { follow }: Pick<FocusVerbs, "follow">) {
  return {
    /** Explains an origin, and moves to its value. */
    chooseOrigin(origin: Origin): void {
      facts.origin.value = originKey(origin);
      follow(placeTarget(origin));
    },
  };
}

interface Restoring extends Pick<ValueVerbs, "openValue"> {
  restoreAlert(index: AlertIndex): Promise<void>;
}

export function createRunVerbs(
  facts: Facts,
  choice: Choice,
  { focusGraphExecution, focusExecution, focusOp, focusLine }: FocusVerbs,
  { setFilter, setOnlyBad }: FilterVerbs,
  { restoreAlert, openValue }: Restoring,
) {
  return {
    selectRun(run: RunName): void {
      choice.make();
      batch(() => {
        // No run is compared with itself: the two change places.
        if (facts.other.peek() === run) facts.other.value = facts.run.peek();
        facts.run.value = run;
        clearRun(facts);
      });
    },
    /** Goes where a link leads, within the run. */
    async open(link: Link): Promise<void> {
      facts.other.value = link.other === facts.run.peek() ? undefined : link.other;
      setFilter(link);
      setOnlyBad(link.onlyBad === true);
      facts.alertType.value = link.alertType;
      if (link.trace !== undefined && link.subject !== "execution") await focusGraphExecution(link.trace);
      else if (link.execution !== undefined) focusExecution(link.execution);
      if (link.graph !== undefined && link.op !== undefined && link.trace === undefined)
        focusOp({ graph: link.graph, opName: link.op, graphExecution: undefined, owner: undefined });
      if (link.frame !== undefined) facts.frame.value = link.frame;
      if (link.file !== undefined) focusLine({ file: link.file, line: link.line ?? 1 });
      openValue(link);
      if (link.alert !== undefined) await restoreAlert(link.alert);
    },
  };
}

/** Drops what belongs to a run: another run has nothing of it. */
function clearRun(facts: Facts): void {
  facts.status.value = undefined;
  facts.problem.value = undefined;
  facts.touched.value = false;
  facts.execution.value = undefined;
  facts.graphExecution.value = undefined;
  facts.alert.value = undefined;
  facts.origin.value = undefined;
  facts.alertType.value = undefined;
  facts.history.value = NO_HISTORY;
  facts.frame.value = undefined;
  facts.line.value = undefined;
  facts.filter.value = {};
  facts.value.value = undefined;
}
