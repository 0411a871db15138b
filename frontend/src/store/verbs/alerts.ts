/** Verbs for alerts. Their positions are those in the list that is shown. */
import { batch } from "@preact/signals";
import type { Alert } from "../../api/answers";
import { type AlertIndex, alertIndex } from "../../base/ids";
import type { VerbDeps } from "../deps";
import type { Facts } from "../facts";
import type { AlertPage } from "../lists";
import type { Choice } from "./choice";
import type { FocusVerbs } from "./focus";

export function createAlertVerbs(deps: VerbDeps, choice: Choice, focus: FocusVerbs) {
  const { facts, alertList } = deps;

  /**
   * Moves every section to the alert: to the graph execution with the call it ran in, or to the execution.
   */
  async function focusAlert(index: AlertIndex): Promise<void> {
    const pages = alertList.peek()?.pages;
    if (pages === undefined) return;
    batch(() => {
      facts.touched.value = true;
      facts.alert.value = index;
    });
    await choice.wait(pages.fetchAt(index), (page) => {
      const { graph_execution_trace_index: graphExecution, execution_index: execution } =
        page.alerts[index - page.begin] ?? {};
      if (graphExecution !== undefined) void focus.focusGraphExecution(graphExecution);
      else if (execution !== undefined) focus.focusExecution(execution);
      facts.alert.value = index;
    });
  }

  function step(by: 1 | -1): void {
    const next = nextAlert(deps, by);
    if (next !== undefined) void focusAlert(next);
  }

  return { focusAlert, nextAlert: () => step(1), previousAlert: () => step(-1) };
}

/** The alert after or before the one in focus; without one, the list's place to begin, or its end. */
function nextAlert({ facts, alertList }: VerbDeps, by: 1 | -1): AlertIndex | undefined {
  const list = alertList.peek();
  const total = list?.pages.total.peek() ?? 0;
  const here = facts.alert.peek();
  const first = by === 1 ? (list?.overview.peek()?.start ?? 0) : total - 1;
  const next = here === undefined ? first : here + by;
  return next >= 0 && next < total ? alertIndex(next) : undefined;
}

/** Verbs that keep an alert in focus while what is shown around it changes. */
export function createAlertKeeping(deps: VerbDeps, choice: Choice) {
  const { facts } = deps;
  return {
    /**
     * Puts an alert into focus if it is about what is in focus: a run that was recorded anew has other
     * alerts.
     */
    async restoreAlert(index: AlertIndex): Promise<void> {
      const page = await alertPageAt(deps, choice, index);
      if (page !== undefined && isInFocus(facts, page.alerts[index - page.begin])) facts.alert.value = index;
    },
    /** Shows the alerts of one rule, or all. The focus stays; its alert is looked for on the first page. */
    async setAlertType(type: string | undefined): Promise<void> {
      const hadAlert = facts.alert.peek() !== undefined;
      batch(() => {
        facts.alertType.value = type;
        facts.alert.value = undefined;
      });
      const page = hadAlert ? await alertPageAt(deps, choice, alertIndex(0)) : undefined;
      const row = page?.alerts.findIndex((alert) => isInFocus(facts, alert)) ?? -1;
      if (row >= 0) facts.alert.value = alertIndex(row);
    },
  };
}

/**
 * The page with an alert; undefined when it fails, or when the reader chooses something before it arrives.
 */
async function alertPageAt(
  { alertList, activity }: VerbDeps,
  choice: Choice,
  index: AlertIndex,
): Promise<AlertPage | undefined> {
  const list = alertList.peek();
  const mine = choice.latest();
  const page = list && (await activity.track(list.pages.fetchAt(index)).catch(() => undefined));
  return mine === choice.latest() && list === alertList.peek() ? page : undefined;
}

function isInFocus(facts: Facts, alert: Alert | undefined): boolean {
  if (alert === undefined) return false;
  const { graph_execution_trace_index: graphExecution, execution_index: execution } = alert;
  return graphExecution === undefined
    ? execution === facts.execution.peek()
    : graphExecution === facts.graphExecution.peek();
}
