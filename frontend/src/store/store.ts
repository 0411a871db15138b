/** The store: facts, derived values and verbs, tied to one server. */
import { computed, effect, type ReadonlySignal, untracked } from "@preact/signals";
import type { Runs, Status } from "../api/answers";
import type { Api } from "../api/routes";
import { executionIndex } from "../base/ids";
import type { Link } from "../model/link";
import { createAccess } from "./access";
import { createActivity } from "./activity";
import { createComparison } from "./comparison/comparison";
import type { Deps, VerbDeps } from "./deps";
import { createDerived } from "./derived/derived";
import { createFacts, type Facts, type OpFocus } from "./facts";
import { createLive, type Live } from "./live/live";
import { createLivePanel, type LivePanel } from "./live_panel/live_panel";
import { newestRun, Polling } from "./polling";
import { createRules } from "./rules";
import { createRunLists } from "./run_lists";
import { createSearch } from "./search";
import { browserTimer, type Timer } from "./timer";
import { createChoice } from "./verbs/choice";
import { createVerbs, type Verbs } from "./verbs/verbs";

export type Store = ReturnType<typeof createStore>;

export function createStore(api: Api, timer: Timer = browserTimer, access = createAccess()) {
  const activity = createActivity();
  const facts = createFacts();
  const deps: Deps = { api, facts, activity };
  const { follow, ...lists } = createRunLists(deps);
  const derived = createDerived(deps);
  const verbDeps = { ...deps, lists: lists.lists, alertList: lists.alertList };
  const choice = createChoice(deps);
  const verbs = createVerbs(verbDeps, choice);
  const live = createLive({ ...verbDeps, ...derived, timer, choice, verbs });
  const comparison = createComparison({ ...deps, ...derived, ...verbs, timer, choice, dock: live.dock });
  const livePanel = createLivePanel({ api, activity, timer, store: facts, live, verbs });
  return {
    ...facts,
    ...derived,
    ...lists,
    ...verbs,
    ...createSearch(api, facts, timer, activity),
    rules: createRules(deps, timer),
    access,
    comparison,
    live,
    livePanel,
    busy: activity.busy,
    track: activity.track,
    ...createTabVerbs(facts),
    link: createLink(facts, derived.op),
    /** Starts the store at a link; returns a function that ends it. */
    start(link: Link): () => void {
      const stops = [follow(), focusFirst(verbDeps, verbs), comparison.start()];
      stops.push(...ask({ ...verbDeps, timer, live, livePanel, verbs }, link));
      return () => {
        for (const stop of stops) stop();
        facts.run.value = undefined;
      };
    },
  };
}

interface AskDeps extends VerbDeps {
  readonly timer: Timer;
  readonly live: Live;
  readonly livePanel: LivePanel;
  readonly verbs: Verbs;
}

/** Begins to ask the server for programs and for the run; returns functions that end it. */
function ask({ live, livePanel, verbs, ...deps }: AskDeps, link: Link): (() => void)[] {
  const onRuns = (runs: Runs) => chooseRun(deps.facts, verbs, runs, link);
  const polling = new Polling({ ...deps, onRuns });
  const take = (status: Status) => polling.take(status);
  return [live.start(hasFocus(link), take), livePanel.start(), polling.start()];
}

function createTabVerbs(facts: Facts) {
  return {
    setSeen(isSeen: boolean): void {
      facts.seen.value = isSeen;
    },
    /** Asks the server for changes now, even of a finished run. */
    lookAgain(): void {
      facts.looks.value = facts.looks.peek() + 1;
    },
  };
}

/** Until the reader chooses something, the page shows the first cause, or else the first execution. */
function focusFirst({ facts, alertList }: VerbDeps, verbs: Verbs): () => void {
  return effect(() => {
    const status = facts.status.value;
    if (status === undefined || facts.touched.value) return;
    const start = alertList.value?.overview.value?.start;
    untracked(() => {
      const isEmpty = status.num_alerts === 0 && status.num_executions > 0;
      if (start !== undefined) void verbs.focusAlert(start);
      else if (isEmpty && facts.execution.peek() === undefined) {
        verbs.focusExecution(executionIndex(0));
        facts.touched.value = false;
      }
    });
  });
}

/** Whether a link leads to more than runs. */
function hasFocus({ run: _, other: __, ...rest }: Link): boolean {
  return Object.values(rest).some((part) => part !== undefined);
}

/** Takes the run of the link when there is one of that name, else the newest. */
function chooseRun(facts: Facts, verbs: Verbs, runs: Runs, link: Link): void {
  if (facts.run.peek() !== undefined) return;
  const isNamed = link.run !== undefined && runs.has(link.run);
  const run = isNamed ? link.run : newestRun(runs);
  if (run === undefined) return;
  verbs.selectRun(run);
  if (isNamed || link.run === undefined) void verbs.open(link);
}

/** The link that leads back to what is shown now. */
function createLink(facts: Facts, opInFocus: ReadonlySignal<OpFocus | undefined>): ReadonlySignal<Link> {
  return computed(() => {
    const op = opInFocus.value;
    const isOp = facts.subject.value === "op";
    return {
      ...valueLink(facts),
      run: facts.run.value,
      other: facts.other.value,
      execution: facts.execution.value,
      trace: facts.graphExecution.value,
      ...(isOp && op !== undefined && op.graphExecution === undefined
        ? { graph: op.graph, op: op.opName }
        : {}),
      subject: facts.execution.value !== undefined || op !== undefined ? facts.subject.value : undefined,
      frame: facts.frame.value,
      file: facts.line.value?.file,
      line: facts.line.value?.line,
      ...facts.filter.value,
      onlyBad: facts.onlyBad.value ? true : undefined,
      alertType: facts.alertType.value,
      alert: facts.alert.value,
    };
  });
}

/** The part of the link that opens the value view again. */
function valueLink(facts: Facts): Link {
  const ref = facts.value.value;
  if (ref === undefined) return {};
  return {
    value: ref,
    slicing: facts.slicing.value,
    swapped: facts.isSwapped.value ? true : undefined,
    tab: facts.valueTab.value === "table" ? "table" : undefined,
    part: facts.part.value === "abs" ? undefined : facts.part.value,
  };
}
