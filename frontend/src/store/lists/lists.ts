/** The long lists of one run. Answers that arrive after `stopLists` are dropped. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Alert, AlertRule, Status } from "../../api/answers";
import type { ColumnPage } from "../../api/columns";
import type { AnyList, Api, RowParams } from "../../api/routes";
import { type AlertIndex, alertIndex, type RunName } from "../../base/ids";
import { isLong } from "../../model/inventory";
import { executionsOf } from "../../model/status";
import type { Activity } from "../common/activity";
import { Pages, type Ranged } from "../common/pages";

export interface AlertPage extends Ranged {
  readonly alerts: readonly Alert[];
}

/** The fields of an answer that are about the whole list. */
export interface AlertOverview {
  /** The position to begin with; undefined for an empty list. */
  readonly start: AlertIndex | undefined;
  /** The position of the first cause; undefined when the list does not have it. */
  readonly firstCause: AlertIndex | undefined;
  readonly rules: readonly AlertRule[];
  /** The number of alerts of each rule in the whole run. */
  readonly breakdown: ReadonlyMap<string, number>;
}

export interface AlertList {
  readonly pages: Pages<AlertPage>;
  /** From the newest answer. */
  readonly overview: ReadonlySignal<AlertOverview | undefined>;
}

export interface Lists {
  readonly executions: Pages<ColumnPage>;
  readonly graphExecutions: Pages<ColumnPage>;
  /** The bad rows of `graphExecutions`. */
  readonly badGraphExecutions: Pages<ColumnPage>;
  readonly alerts: AlertList;
}

export function createLists(api: Api, run: RunName, activity: Activity): Lists {
  return {
    executions: new Pages((begin, end) => api.executionRows(run, begin, end), activity),
    graphExecutions: new Pages((begin, end) => api.graphExecutionRows(run, begin, end, false), activity),
    badGraphExecutions: new Pages((begin, end) => api.graphExecutionRows(run, begin, end, true), activity),
    alerts: createAlertList(api, run, undefined, activity),
  };
}

/** The alerts of one rule, or of all rules. */
export function createAlertList(
  api: Api,
  run: RunName,
  alertType: string | undefined,
  activity: Activity,
): AlertList {
  const overview = signal<AlertOverview | undefined>(undefined);
  const pages = new Pages(async (begin, end): Promise<AlertPage> => {
    const { alerts, num_alerts: total, ...answer } = await api.alerts(run, begin, end, alertType);
    const { first_cause: firstCause, rules, alerts_breakdown: breakdown } = answer;
    const start = total === 0 ? undefined : (firstCause ?? alertIndex(0));
    overview.value = { start, firstCause, rules, breakdown };
    return { begin, end: begin + alerts.length, total, alerts };
  }, activity);
  return { pages, overview };
}

/**
 * The rows of a list that fulfil a filter, in an order, with further columns. The length of the list is known
 * only from its answers.
 */
export function createAskedList(
  api: Api,
  run: RunName,
  list: AnyList,
  onlyBad: boolean,
  params: RowParams,
  activity: Activity,
): Pages<ColumnPage> {
  if (!isLong(list)) return new Pages((begin, end) => api.things(run, list, begin, end, params), activity);
  if (list === "executions")
    return new Pages((begin, end) => api.executionRows(run, begin, end, params), activity);
  return new Pages((begin, end) => api.graphExecutionRows(run, begin, end, onlyBad, params), activity);
}

/** All lists of a run. */
export function pagesOf({ executions, graphExecutions, badGraphExecutions, alerts }: Lists) {
  return [executions, graphExecutions, badGraphExecutions, alerts.pages];
}

export function stopLists(lists: Lists): void {
  for (const pages of pagesOf(lists)) pages.stop();
}

/** Sets the lengths of the lists, and refreshes those that may have changed since another status. */
export function applyStatus(lists: Lists | undefined, status: Status, before: Status | undefined): void {
  if (lists === undefined) return;
  const { executions, graphExecutions, badGraphExecutions, alerts } = lists;
  const isChanged = before?.generation !== status.generation;
  const areMore = before === undefined || executionsOf(before) !== executionsOf(status);
  executions.setTotal(status.num_executions, isChanged && areMore);
  graphExecutions.setTotal(status.num_graph_executions, isChanged);
  badGraphExecutions.setTotal(status.num_bad_graph_executions, isChanged);
  alerts.pages.setTotal(status.num_alerts, isChanged);
}

/** Requests again what failed. */
export function retryFailed(lists: Lists | undefined): void {
  if (lists === undefined) return;
  for (const pages of pagesOf(lists)) if (pages.failure.peek() !== undefined) pages.refresh();
}
