/** The long lists of one run. Another run has other ones; what still arrives for the old is dropped. */

import type { Alert } from "../api/answers";
import type { ColumnPage } from "../api/columns";
import type { Api, TraceFilter } from "../api/routes";
import type { RunName } from "../base/ids";
import type { Activity } from "./activity";
import { Pages, type Ranged } from "./pages";

export interface AlertPage extends Ranged {
  readonly alerts: readonly Alert[];
  /** How many there are of each type. */
  readonly breakdown: ReadonlyMap<string, number>;
}

export interface Lists {
  readonly executions: Pages<ColumnPage>;
  readonly traces: Pages<ColumnPage>;
  /** The same rows as `traces` without those that hold no bad value. */
  readonly badTraces: Pages<ColumnPage>;
  readonly alerts: Pages<AlertPage>;
}

export function createLists(api: Api, run: RunName, activity: Activity): Lists {
  return {
    executions: new Pages((begin, end) => api.executionRows(run, begin, end), activity),
    traces: new Pages((begin, end) => api.traceRows(run, begin, end, false), activity),
    badTraces: new Pages((begin, end) => api.traceRows(run, begin, end, true), activity),
    alerts: new Pages(async (begin, end) => {
      const answer = await api.alerts(run, begin, end);
      const { alerts, alerts_breakdown: breakdown, num_alerts: total } = answer;
      return { begin, end: begin + alerts.length, total, alerts, breakdown };
    }, activity),
  };
}

/** The graph executions that fulfil a filter: a list of its own, whose length only its answers tell. */
export function createChosen(
  api: Api,
  run: RunName,
  filter: TraceFilter,
  onlyBad: boolean,
  activity: Activity,
): Pages<ColumnPage> {
  return new Pages((begin, end) => api.traceRows(run, begin, end, onlyBad, filter), activity);
}

export function isEmpty(filter: TraceFilter): boolean {
  return filter.host === undefined && filter.layer === undefined;
}

export function stopLists(lists: Lists): void {
  for (const pages of [lists.executions, lists.traces, lists.badTraces, lists.alerts]) pages.stop();
}
