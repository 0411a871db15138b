/** The lists of the run in focus: which rows they have. Each run has its own lists, and so has each filter and
 * each alert rule. */
import { computed, effect, signal } from "@preact/signals";
import type { AlertRule } from "../../api/answers";
import type { ColumnPage } from "../../api/columns";
import type { AnyList, ListName, RowParams } from "../../api/routes";
import {
  type Filter,
  NO_FILTER,
  orderParams,
  paramsOf,
  type RowOrder,
  type Term,
  valueIn,
  withoutTerm,
  withTerm,
} from "../../model/filters";
import { isLong, longOf } from "../../model/inventory";
import { setter, together } from "../common/activity";
import type { Pages } from "../common/pages";
import type { Deps, RunFacts } from "../run/run";
import {
  type AlertList,
  applyStatus,
  createAlertList,
  createAskedList,
  createLists,
  type Lists,
  stopLists,
} from "./lists";

export type ListFacts = ReturnType<typeof createListFacts>;

/** The facts of this slice and of those that it knows. */
export type ListedFacts = RunFacts & ListFacts;

/** What a reader wants to see of a list. */
export interface Wish {
  readonly filter: Filter;
  /** Undefined: the order in which the rows were recorded. */
  readonly order: RowOrder | undefined;
  /** Columns that are there only if they are named. */
  readonly more: readonly string[];
}

const NO_WISH: Wish = { filter: NO_FILTER, order: undefined, more: [] };
/** The order of things until a reader chooses another one. */
const BAD_FIRST: RowOrder = { column: "bad", descending: true };

/** What is wanted of a list. The filter of the graph executions is that of things, too. */
export function wishOf({ wishes, thingOrder }: ListFacts, list: AnyList): Wish {
  if (isLong(list)) return wishes[list].value;
  return { filter: wishes.graph_executions.value.filter, order: thingOrder.value, more: [] };
}

/** The parameters of the rows that are shown. */
export function chosenParams(facts: ListFacts): RowParams {
  const list = facts.shownList.value;
  const isBad = list !== "executions" && facts.onlyBad.value;
  return { ...(isBad && { health: "bad" }), ...rowParams(wishOf(facts, list)) };
}

/** The parameters that choose and sort the rows of a wish. */
export function rowParams({ filter, order }: Wish): RowParams {
  return { ...paramsOf(filter), ...orderParams(order) };
}

/** Whether the rows are not all rows in the order in which they were recorded. */
export function isChosen({ filter, order }: Wish): boolean {
  return filter.length > 0 || order !== undefined;
}

/** Which rows the lists have. */
export function createListFacts() {
  return {
    /** The id of the rule whose alerts are shown; undefined shows all alerts. */
    alertType: signal<string | undefined>(undefined),
    /** Whether graph executions without a bad value are left out. */
    onlyBad: signal(false),
    /** The list that is shown below the timeline. */
    shownList: signal<AnyList>("graph_executions"),
    /** What is wanted of each long list. */
    wishes: {
      graph_executions: signal<Wish>(NO_WISH),
      executions: signal<Wish>(NO_WISH),
    } as const,
    /** How things are sorted, of whatever kind; undefined: as they were recorded. */
    thingOrder: signal<RowOrder | undefined>(BAD_FIRST),
    /** The numbers of buckets of the two overviews: the lengths of their minimaps in pixels. */
    timelineBuckets: signal(0),
    graphExecutionBuckets: signal(0),
  };
}

export function createRunLists(deps: Deps<ListedFacts>) {
  const { facts } = deps;
  const signals = createSignals();
  const { lists, asked, ofRule } = signals;
  return {
    lists,
    /** The list of alerts that is shown: all, or those of one rule. */
    alertList: computed(() => ofRule.value ?? lists.value?.alerts),
    /** The rules with alerts, for the buttons that choose one. */
    alertTypes: computed(() => {
      const { rules = [], breakdown = new Map() } = lists.value?.alerts.overview.value ?? {};
      return alertTypes(rules, breakdown, facts.alertType.value);
    }),
    /** The list of graph executions that is shown: all, the bad ones, or those that are asked for. */
    graphExecutionPages: computed(
      () =>
        asked.graph_executions.value ??
        (facts.onlyBad.value ? lists.value?.badGraphExecutions : lists.value?.graphExecutions),
    ),
    /** The list of executions that is shown. */
    executionPages: computed(() => asked.executions.value ?? lists.value?.executions),
    /** The things that are shown; undefined while a long list is. */
    thingPages: signals.things,
    /** The steps whose graph executions are shown; undefined for all. */
    shownSteps: computed(() => valueIn(facts.wishes.graph_executions.value.filter, "step")),
    /** The process whose rows are shown; undefined for all. */
    shownProcess: computed(() => valueIn(facts.wishes.graph_executions.value.filter, "process")),
    /** Begins to follow the facts; returns a function that ends it. */
    follow(): () => void {
      return together([
        followRun(deps, signals),
        followEmptyList(deps),
        followWish(deps, signals, "graph_executions"),
        followWish(deps, signals, "executions"),
        followThings(deps, signals),
        followAlertType(deps, signals),
      ]);
    },
  };
}

type Signals = ReturnType<typeof createSignals>;

function createSignals() {
  return {
    lists: signal<Lists | undefined>(undefined),
    /** The rows of a list that is not just as it was recorded; else undefined. */
    asked: {
      graph_executions: signal<Pages<ColumnPage> | undefined>(undefined),
      executions: signal<Pages<ColumnPage> | undefined>(undefined),
    } as const,
    /** The things of the kind that is shown. */
    things: signal<Pages<ColumnPage> | undefined>(undefined),
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

/** Shows the executions of a run in which nothing ran in a graph: its list of graph executions is empty. */
function followEmptyList({ facts }: Deps<ListedFacts>): () => void {
  const { shownList, wishes } = facts;
  let known: string | undefined;
  let isOurChoice = false;
  return effect(() => {
    const [run, status] = [facts.run.value, facts.status.value];
    if (run === undefined || status === undefined || run === known) return;
    known = run;
    const { finished, num_graph_executions, num_executions } = status;
    const isEmpty = finished === true && num_graph_executions === 0 && num_executions > 0;
    const isAsked = wishes.graph_executions.peek().filter.length > 0;
    if (isEmpty && !isAsked && shownList.peek() === "graph_executions") {
      isOurChoice = true;
      shownList.value = "executions";
    } else if (!isEmpty && isOurChoice) {
      isOurChoice = false;
      if (shownList.peek() === "executions") shownList.value = "graph_executions";
    }
  });
}

function followWish(deps: Deps<ListedFacts>, { asked }: Signals, list: ListName): () => void {
  const { api, facts, activity } = deps;
  const wanted = computed(() => {
    const wish = facts.wishes[list].value;
    const more = wish.more.length > 0 ? { with: wish.more.join(",") } : {};
    return isChosen(wish) || wish.more.length > 0
      ? JSON.stringify({ ...rowParams(wish), ...more })
      : undefined;
  });
  const stopMaking = effect(() => {
    const [run, params] = [facts.run.value, wanted.value];
    const made =
      run === undefined || params === undefined
        ? undefined
        : createAskedList(api, run, list, facts.onlyBad.value, JSON.parse(params), activity);
    asked[list].value = made;
    return () => made?.stop();
  });
  return together([eachGeneration(deps, () => asked[list].value), stopMaking]);
}

function followThings(deps: Deps<ListedFacts>, { things }: Signals): () => void {
  const { api, facts, activity } = deps;
  const wanted = computed(() => JSON.stringify(chosenParams(facts)));
  const stopMaking = effect(() => {
    const [run, list] = [facts.run.value, facts.shownList.value];
    const made =
      run === undefined || isLong(list)
        ? undefined
        : createAskedList(api, run, list, facts.onlyBad.value, JSON.parse(wanted.value), activity);
    things.value = made;
    return () => made?.stop();
  });
  return together([eachGeneration(deps, () => things.value), stopMaking]);
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

/** The verbs of the list that is shown. */
function createShownVerbs(facts: ListedFacts) {
  const { shownList, wishes } = facts;
  /** Changes what is wanted of the list that is shown. */
  function wish(parts: Partial<Wish>): void {
    const list = shownList.peek();
    const of = wishes[longOf(list)];
    if (isLong(list)) of.value = { ...of.peek(), ...parts };
    else {
      if ("order" in parts) facts.thingOrder.value = parts.order;
      of.value = { ...of.peek(), filter: parts.filter ?? of.peek().filter };
    }
  }
  const filterNow = () => wishes[longOf(shownList.peek())].peek().filter;
  function addTerm(term: Term): void {
    // All bad values are shown, or those of one health.
    if (term.word === "health") facts.onlyBad.value = false;
    wish({ filter: withTerm(filterNow(), term) });
  }
  return {
    wish,
    addTerm,
    removeTerm(term: Term): void {
      wish({ filter: withoutTerm(filterNow(), term) });
    },
  };
}

export function createFilterVerbs(facts: ListedFacts) {
  const { shownList, wishes } = facts;
  const ofShown = createShownVerbs(facts);
  return {
    ...ofShown,
    setOnlyBad(onlyBad: boolean): void {
      facts.onlyBad.value = onlyBad;
      const of = wishes.graph_executions;
      const { filter } = of.peek();
      const health = filter.find(({ word }) => word === "health");
      if (onlyBad && health !== undefined) of.value = { ...of.peek(), filter: withoutTerm(filter, health) };
    },
    showList: setter(shownList),
    /** Shows the graph executions of one word only; an empty value shows all again. */
    filterGraphExecutions(word: string, value: string): void {
      shownList.value = "graph_executions";
      const term: Term = { word, sign: ":", value };
      if (value === "") ofShown.removeTerm(term);
      else ofShown.addTerm(term);
    },
    ...createAllListsVerbs(facts),
  };
}

function createAllListsVerbs({ wishes, thingOrder }: ListedFacts) {
  return {
    /** Filters all lists by the values of some words. */
    filterAllLists(values: Readonly<Record<string, string>>): void {
      for (const of of Object.values(wishes)) {
        const terms = Object.entries(values).map(([word, value]): Term => ({ word, sign: ":", value }));
        of.value = { ...of.peek(), filter: terms.reduce(withTerm, of.peek().filter) };
      }
    },
    /** Removes the terms of a word from all lists. */
    forgetWord(word: string): void {
      for (const of of Object.values(wishes)) {
        const { filter } = of.peek();
        if (filter.some((term) => term.word === word))
          of.value = { ...of.peek(), filter: filter.filter((term) => term.word !== word) };
      }
    },
    forgetWishes(): void {
      thingOrder.value = BAD_FIRST;
      for (const of of Object.values(wishes)) of.value = { ...NO_WISH, more: of.peek().more };
    },
  };
}
