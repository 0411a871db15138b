/** Verbs for alerts. Their positions are those in the list that is shown. */
import { batch, signal } from "@preact/signals";
import type { Alert, Finding, Origin } from "../../api/answers";
import { type AlertIndex, alertIndex } from "../../base/ids";
import { originKey, placeTarget } from "../../model/origin";
import type { Choice, FocusedFacts, VerbDeps } from "../focus/facts";
import { type FocusVerbs, rowAt, showExecution, showRow } from "../focus/verbs";
import type { AlertList, AlertPage } from "../lists/lists";

export type AlertFacts = ReturnType<typeof createAlertFacts>;

/** What the reader said and chose of alerts. */
export function createAlertFacts() {
  return {
    /** Rises when the reader calls an alert meant. */
    meant: signal(0),
    /** The key of the origin that the reader chose; undefined for the most important one. */
    origin: signal<string | undefined>(undefined),
  };
}

export function createAlertVerbs(deps: VerbDeps, choice: Choice) {
  const { facts, alertList } = deps;

  /** The alert that the newest choice waits for. */
  let awaited: { readonly index: AlertIndex; readonly choice: number } | undefined;

  /**
   * Moves every section to the alert: to the graph execution with the call it ran in, or to the execution. All
   * of it is written at once, when it is there.
   */
  async function focusAlert(index: AlertIndex): Promise<void> {
    const pages = alertList.peek()?.pages;
    if (pages === undefined) return;
    facts.touched.value = true;
    const done = choice.wait(subjectOf(deps, pages, index), (subject) => {
      if (typeof subject === "number") showExecution(facts, subject);
      else if (subject !== undefined) showRow(facts, subject);
      facts.alert.value = index;
    });
    const mine = { index, choice: choice.latest() };
    awaited = mine;
    await done;
    if (awaited === mine) awaited = undefined;
  }

  function step(by: 1 | -1): void {
    const here = awaited?.choice === choice.latest() ? awaited.index : facts.alert.peek();
    const next = nextAlert(alertList.peek(), here, by);
    if (next !== undefined) void focusAlert(next);
  }

  return { focusAlert, nextAlert: () => step(1), previousAlert: () => step(-1) };
}

export type FindingVerbs = ReturnType<typeof createFindingVerbs>;

export function createFindingVerbs({
  focusGraphExecution,
  focusExecution,
}: Pick<FocusVerbs, "focusGraphExecution" | "focusExecution">) {
  return {
    /** Brings the first value of an alert of a rule into focus. */
    focusFinding({ graph_execution_trace_index: at, execution_index: execution }: Finding): void {
      if (at !== undefined) void focusGraphExecution(at);
      else if (execution !== undefined) focusExecution(execution);
    },
  };
}

/** What an alert is about: the row of a graph execution, or the execution. */
async function subjectOf(deps: VerbDeps, pages: AlertList["pages"], index: AlertIndex) {
  const page = await pages.fetchAt(index);
  const { graph_execution_trace_index: at, execution_index: execution } =
    page.alerts[index - page.begin] ?? {};
  return at === undefined ? execution : rowAt(deps, at);
}

/** The alert after or before one; without one, the list's place to begin, or its end. */
function nextAlert(
  list: AlertList | undefined,
  here: AlertIndex | undefined,
  by: 1 | -1,
): AlertIndex | undefined {
  const total = list?.pages.total.peek() ?? 0;
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

function isInFocus(facts: FocusedFacts, alert: Alert | undefined): boolean {
  if (alert === undefined) return false;
  const { graph_execution_trace_index: graphExecution, execution_index: execution } = alert;
  return graphExecution === undefined
    ? execution === facts.execution.peek()
    : graphExecution === facts.graphExecution.peek();
}

export function createOriginVerbs(facts: AlertFacts, { follow }: Pick<FocusVerbs, "follow">) {
  return {
    /** Explains an origin, and moves to its value. */
    chooseOrigin(origin: Origin): void {
      facts.origin.value = originKey(origin);
      follow(placeTarget(origin));
    },
  };
}
