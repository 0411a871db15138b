/** The store: facts, what follows from them, and the verbs that change them, tied to one server. */
import { computed, effect, signal, untracked } from "@preact/signals";
import type { Runs } from "../api/answers";
import type { ColumnPage } from "../api/columns";
import type { Api } from "../api/routes";
import { executionIndex, type RunName } from "../base/ids";
import { alertTypes } from "../model/alert_types";
import type { Link } from "../model/link";
import { createActivity } from "./activity";
import { createDerived } from "./derived";
import { createFacts } from "./facts";
import {
  type AlertList,
  createAlertList,
  createChosen,
  createLists,
  isEmpty,
  type Lists,
  stopLists,
} from "./lists";
import type { Pages } from "./pages";
import { applyStatus, browserTimer, newestRun, startPolling, type Timer } from "./polling";
import { createSearch } from "./search";
import { createVerbs } from "./verbs";

export type Store = ReturnType<typeof createStore>;

export function createStore(api: Api, timer: Timer = browserTimer) {
  const activity = createActivity();
  const facts = createFacts();
  const lists = signal<Lists | undefined>(undefined);
  const chosen = signal<Pages<ColumnPage> | undefined>(undefined);
  const alertsOfType = signal<AlertList | undefined>(undefined);
  const alertList = computed(() => alertsOfType.value ?? lists.value?.alerts);
  const derived = createDerived(api, facts, activity);
  const verbs = createVerbs(api, facts, lists, alertList, activity);
  const search = createSearch(api, facts, timer, activity);

  /** Each run has its own lists. */
  function followRun(): () => void {
    return effect(() => {
      const run: RunName | undefined = facts.run.value;
      const fresh = run === undefined ? undefined : createLists(api, run, activity);
      lists.value = fresh;
      const status = facts.status.peek();
      if (fresh !== undefined && status !== undefined) applyStatus(fresh, status, false);
      fresh?.alerts.pages.want(0, 1);
      return () => {
        if (fresh !== undefined) stopLists(fresh);
      };
    });
  }

  /** Each filter has its own list, counted anew with each generation. */
  function followFilter(): () => void {
    const stopMaking = effect(() => {
      const run = facts.run.value;
      const filter = facts.filter.value;
      const made =
        run === undefined || isEmpty(filter)
          ? undefined
          : createChosen(api, run, filter, facts.onlyBad.value, activity);
      chosen.value = made;
      return () => made?.stop();
    });
    const generation = computed(() => facts.status.value?.generation);
    const stopCounting = effect(() => {
      if (generation.value !== undefined) void chosen.value?.recount();
    });
    return () => {
      stopCounting();
      stopMaking();
    };
  }

  /** Each chosen alert rule has its own list, counted anew with each generation. */
  function followAlertType(): () => void {
    const stopMaking = effect(() => {
      const [run, type] = [facts.run.value, facts.alertType.value];
      const made =
        run === undefined || type === undefined ? undefined : createAlertList(api, run, type, activity);
      made?.pages.want(0, 1);
      alertsOfType.value = made;
      return () => made?.pages.stop();
    });
    const generation = computed(() => facts.status.value?.generation);
    const stopCounting = effect(() => {
      if (generation.value !== undefined) void alertsOfType.value?.pages.recount();
    });
    return () => {
      stopCounting();
      stopMaking();
    };
  }

  /** Until the reader chooses something the page stands at the first cause, or at the first execution. */
  function followFirstAlert(): () => void {
    return effect(() => {
      const status = facts.status.value;
      if (status === undefined || facts.touched.value) return;
      const start = alertList.value?.overview.value?.start;
      untracked(() => {
        if (start !== undefined) void verbs.focusAlert(start);
        else if (
          status.num_alerts === 0 &&
          status.num_executions > 0 &&
          facts.execution.peek() === undefined
        ) {
          verbs.focusExecution(executionIndex(0));
          facts.touched.value = false;
        }
      });
    });
  }

  /** Takes the run of the link when there is one of that name, else the newest. */
  function chooseRun(runs: Runs, link: Link): void {
    if (facts.run.peek() !== undefined) return;
    const named = link.run !== undefined && runs.has(link.run);
    const run = named ? link.run : newestRun(runs);
    if (run === undefined) return;
    verbs.selectRun(run);
    if (named || link.run === undefined) void verbs.open(link);
  }

  return {
    ...facts,
    ...derived,
    ...verbs,
    ...search,
    lists,
    busy: activity.busy,
    track: activity.track,
    /** The list of alerts that is shown: all, or those of one rule. */
    alertList,
    /** The rules with alerts, for the buttons that choose one. */
    alertTypes: computed(() => {
      const { rules = [], breakdown = new Map() } = lists.value?.alerts.overview.value ?? {};
      return alertTypes(rules, breakdown, facts.alertType.value);
    }),
    /** The list of graph executions that is shown: all, the bad ones, or those that fulfil the filter. */
    graphExecutionPages: computed(
      () =>
        chosen.value ??
        (facts.onlyBad.value ? lists.value?.badGraphExecutions : lists.value?.graphExecutions),
    ),
    /** Begins at the link; returns how to end. */
    start(link: Link): () => void {
      const stops = [
        followRun(),
        followFilter(),
        followAlertType(),
        followFirstAlert(),
        startPolling({ api, facts, lists, timer, onRuns: (runs) => chooseRun(runs, link) }),
      ];
      return () => {
        for (const stop of stops) stop();
        facts.run.value = undefined;
      };
    },
    setSeen(isSeen: boolean): void {
      facts.seen.value = isSeen;
    },
    /** The reader is back: looks whether anything changed, also where nothing should. */
    lookAgain(): void {
      facts.looks.value = facts.looks.peek() + 1;
    },
    /** What a link to what is shown now must say. */
    link: computed<Link>(() => {
      const op = derived.op.value;
      const isOp = facts.subject.value === "op";
      return {
        run: facts.run.value,
        execution: facts.execution.value,
        trace: facts.graphExecution.value,
        ...(isOp && op !== undefined && op.trace === undefined ? { graph: op.graph, op: op.opName } : {}),
        subject: facts.execution.value !== undefined || op !== undefined ? facts.subject.value : undefined,
        frame: facts.frame.value,
        file: facts.line.value?.file,
        line: facts.line.value?.line,
        ...facts.filter.value,
        onlyBad: facts.onlyBad.value ? true : undefined,
        alertType: facts.alertType.value,
        alert: facts.alert.value,
      };
    }),
  };
}
