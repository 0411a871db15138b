/** The lists of the run in focus: which rows they have. Each run has its own lists, and so has each filter and
 * each alert rule. */
import { computed, effect, signal } from "@preact/signals";
import type { AlertRule } from "../../api/answers";
import type { ColumnPage } from "../../api/columns";
import type { GraphExecutionFilter } from "../../api/routes";
import { setter, together } from "../common/activity";
import type { Pages } from "../common/pages";
import type { Deps, RunFacts } from "../run/run";
import {
  type AlertList,
  applyStatus,
  createAlertList,
  createFilteredList,
  createLists,
  isEmpty,
  type Lists,
  stopLists,
} from "./lists";

export type ListFacts = ReturnType<typeof createListFacts>;

/** The facts of this slice and of those that it knows. */
export type ListedFacts = RunFacts & ListFacts;

/** Which rows the lists have. */
export function createListFacts() {
  return {
    /** The id of the rule whose alerts are shown; undefined shows all alerts. */
    alertType: signal<string | undefined>(undefined),
    /** Whether graph executions without a bad value are left out. */
    onlyBad: signal(false),
    /** The filter for graph executions. */
    filter: signal<GraphExecutionFilter>({}),
    /** The numbers of buckets of the two overviews: the lengths of their minimaps in pixels. */
    timelineBuckets: signal(0),
    graphExecutionBuckets: signal(0),
  };
}

export function createRunLists(deps: Deps<ListedFacts>) {
  const { facts } = deps;
  const signals = createSignals();
  const { lists, filtered, ofRule } = signals;
  return {
    lists,
    /** The list of alerts that is shown: all, or those of one rule. */
    alertList: computed(() => ofRule.value ?? lists.value?.alerts),
    /** The rules with alerts, for the buttons that choose one. */
    alertTypes: computed(() => {
      const { rules = [], breakdown = new Map() } = lists.value?.alerts.overview.value ?? {};
      return alertTypes(rules, breakdown, facts.alertType.value);
    }),
    /** The list of graph executions that is shown: all, the bad ones, or those that fulfil the filter. */
    graphExecutionPages: computed(
      () =>
        filtered.value ??
        (facts.onlyBad.value ? lists.value?.badGraphExecutions : lists.value?.graphExecutions),
    ),
    /** Begins to follow the facts; returns a function that ends it. */
    follow(): () => void {
      return together([
        followRun(deps, signals),
        followFilter(deps, signals),
        followAlertType(deps, signals),
      ]);
    },
  };
}

type Signals = ReturnType<typeof createSignals>;

function createSignals() {
  return {
    lists: signal<Lists | undefined>(undefined),
    /** The graph executions that fulfil a filter; undefined without a filter. */
    filtered: signal<Pages<ColumnPage> | undefined>(undefined),
    /** The alerts of the chosen rule; undefined when all alerts are shown. */
    ofRule: signal<AlertList | undefined>(undefined),
  };
}

function followRun({ api, facts, activity }: Deps<ListedFacts>, { lists }: Signals): () => void {
  return effect(() => {
    const run = facts.run.value;
    const fresh = run === undefined ? undefined : createLists(api, run, activity);
    lists.value = fresh;
    const status = facts.status.peek();
    if (fresh !== undefined && status !== undefined) applyStatus(fresh, status, status);
    fresh?.alerts.pages.want(0, 1);
    return () => {
      if (fresh !== undefined) stopLists(fresh);
    };
  });
}

function followFilter(deps: Deps<ListedFacts>, { filtered }: Signals): () => void {
  const { api, facts, activity } = deps;
  const stopMaking = effect(() => {
    const [run, filter] = [facts.run.value, facts.filter.value];
    const made =
      run === undefined || isEmpty(filter)
        ? undefined
        : createFilteredList(api, run, filter, facts.onlyBad.value, activity);
    filtered.value = made;
    return () => made?.stop();
  });
  return together([eachGeneration(deps, () => filtered.value), stopMaking]);
}

function followAlertType(deps: Deps<ListedFacts>, { ofRule }: Signals): () => void {
  const { api, facts, activity } = deps;
  const stopMaking = effect(() => {
    const [run, type] = [facts.run.value, facts.alertType.value];
    const made =
      run === undefined || type === undefined ? undefined : createAlertList(api, run, type, activity);
    made?.pages.want(0, 1);
    ofRule.value = made;
    return () => made?.pages.stop();
  });
  return together([eachGeneration(deps, () => ofRule.value?.pages), stopMaking]);
}

/** Counts the rows of a list anew with each generation, because `status` does not hold their number. */
function eachGeneration(
  { facts }: Deps<ListedFacts>,
  pages: () => { recount(): Promise<void> } | undefined,
): () => void {
  const generation = computed(() => facts.status.value?.generation);
  return effect(() => {
    if (generation.value !== undefined) void pages()?.recount();
  });
}

export interface AlertType {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly isError: boolean;
  readonly count: number;
}

/** `chosen` is listed even without alerts, so that it can be released. */
export function alertTypes(
  rules: readonly AlertRule[],
  breakdown: ReadonlyMap<string, number>,
  chosen: string | undefined,
): readonly AlertType[] {
  const known = rules.map(
    ({ alert_type: id, title, description, severity }): AlertType => ({
      id,
      title,
      description,
      isError: severity === "critical",
      count: breakdown.get(id) ?? 0,
    }),
  );
  // A link may name a rule that the server does not have.
  const isUnknown = chosen !== undefined && !known.some(({ id }) => id === chosen);
  const unknown: AlertType = {
    id: chosen ?? "",
    title: chosen ?? "",
    description: "",
    isError: true,
    count: 0,
  };
  return [...known, ...(isUnknown ? [unknown] : [])].filter(({ id, count }) => count > 0 || id === chosen);
}

export type FilterVerbs = ReturnType<typeof createFilterVerbs>;

export function createFilterVerbs(facts: ListedFacts) {
  return {
    setOnlyBad: setter(facts.onlyBad),
    /** An empty text removes its part of the filter. */
    setFilter({ host = "", layer = "", step = "" }: GraphExecutionFilter): void {
      facts.filter.value = { host: host || undefined, layer: layer || undefined, step: step || undefined };
    },
  };
}
