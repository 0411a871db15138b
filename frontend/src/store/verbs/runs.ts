/** Verbs that choose a run, and a focus within it by a link. */
import { batch } from "@preact/signals";
import type { AlertIndex, RunName } from "../../base/ids";
import { NO_HISTORY } from "../../model/history";
import type { Link } from "../../model/link";
import type { Facts } from "../facts";
import type { Choice } from "./choice";
import type { FilterVerbs } from "./filters";
import type { FocusVerbs } from "./focus";
import type { ValueVerbs } from "./values";

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
        focusOp({ graph: link.graph, opName: link.op, trace: undefined, owner: undefined });
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
