/** The store: facts, derived values and verbs, tied to one server. */
import { effect, untracked } from "@preact/signals";
import type { Runs, Status } from "../api/answers";
import type { Api } from "../api/routes";
import { executionIndex } from "../base/ids";
import type { Link } from "../model/link";
import { createDiagnoses, createOrigins, type OriginValues } from "./alerts/derived";
import { createAlertGroups, createRules } from "./alerts/rules";
import {
  createAlertFacts,
  createAlertKeeping,
  createAlertVerbs,
  createFindingVerbs,
  createOriginVerbs,
} from "./alerts/verbs";
import { browserTimer, createActivity, setter, type Timer, together } from "./common/activity";
import { createComparison } from "./comparison/comparison";
import { createCurves, createCurveVerbs } from "./curves/curves";
import { createCurveFacts } from "./curves/facts";
import { createDock, type Dock } from "./dock/dock";
import { createFiles } from "./files/files";
import { type Choice, createChoice, createFocusFacts, type VerbDeps } from "./focus/facts";
import { createPositions, createStructure } from "./focus/structure";
import { createFocusVerbs, createHistoryVerbs } from "./focus/verbs";
import { createGlance, openGlance } from "./glance/glance";
import { createGraphView } from "./graph/graph";
import { createAccess } from "./link/access";
import { chooseRun, createLink, createRunVerbs, type Facts, hasFocus, type Panels } from "./link/link";
import { applyStatus, retryFailed } from "./lists/lists";
import { createOverviews, createSessionRuns } from "./lists/overviews";
import { createFilterVerbs, createListFacts, createRunLists } from "./lists/run_lists";
import { createLive, createLivePanel, type Live, type LivePanel } from "./live/live";
import { Polling } from "./run/polling";
import { createByKey, createRunFacts, type Deps } from "./run/run";
import { createRuns } from "./runs/runs";
import { createSearch, createSearchVerbs } from "./search/search";
import { createSource, createSourceVerbs } from "./source/source";
import { createSteps, createStepVerbs } from "./steps/steps";
import { createTables } from "./tables/tables";
import { createTimeline, createTimelineFacts } from "./timeline/timeline";
import { createValues } from "./values/values";
import { createValueFacts, createValueVerbs } from "./values/verbs";

export type Store = ReturnType<typeof createStore>;

export function createStore(api: Api, timer: Timer = browserTimer, access = createAccess()) {
  const activity = createActivity();
  const facts = createFacts();
  const panels = { dock: createDock(), timeline: createTimelineFacts() };
  const deps: Deps<Facts> = { api, facts, activity };
  const { follow, ...lists } = createRunLists(deps);
  const derived = createDerived(deps, panels.dock);
  const verbDeps = { ...deps, lists: lists.lists, alertList: lists.alertList };
  const choice = createChoice(deps);
  const verbs = createVerbs(verbDeps, panels, choice);
  const steps = createSteps(deps, createByKey(deps), lists.lists);
  const live = createLive({ ...verbDeps, ...derived, ...panels, timer, choice, verbs });
  const comparison = createComparison({ ...deps, ...derived, ...verbs, ...panels, timer, choice });
  const livePanel = createLivePanel({ ...panels, api, activity, timer, store: facts, live, verbs });
  return {
    ...facts,
    ...derived,
    ...lists,
    ...verbs,
    ...createSearch(api, facts, timer, activity),
    ...createOwnSlices({ ...deps, ...derived, ...panels, timer, verbs }),
    ...createRuns({ ...derived, ...live, ...verbs, ...comparison, ...deps, timer }),
    steps: { ...steps, ...createStepVerbs(verbDeps, choice, steps, verbs) },
    access,
    comparison,
    dock: panels.dock,
    live,
    livePanel,
    ...activity,
    ...createTabVerbs(facts),
    link: createLink(facts, panels, derived.op),
    /** Starts the store at a link; returns a function that ends it. */
    start(link: Link): () => void {
      const leave = () => setter(facts.run)(undefined);
      const glancing = hasFocus(link) ? [] : [openGlance({ ...derived, ...panels, facts, verbs })];
      const own = [follow(), focusFirst(verbDeps, verbs), comparison.start(), ...glancing];
      return together([...own, ...ask({ ...verbDeps, timer, live, livePanel, verbs }, link), leave]);
    },
  };
}

type SliceDeps = Parameters<typeof createFiles>[0] &
  Parameters<typeof createTimeline>[0] &
  Deps<Facts> &
  Pick<OriginValues, "verdict">;

/** Slices that no other one knows. */
function createOwnSlices(deps: SliceDeps) {
  return {
    alertGroups: createAlertGroups(deps, deps.verdict),
    files: createFiles(deps, createByKey(deps)),
    rules: createRules(deps, deps.timer),
    timeline: createTimeline(deps, createByKey(deps)),
  };
}

interface AskDeps extends AllDeps {
  readonly timer: Timer;
  readonly live: Live;
  readonly livePanel: LivePanel;
  readonly verbs: Verbs;
}

/** Begins to ask the server for programs and for the run; returns functions that end it. */
function ask({ live, livePanel, verbs, ...deps }: AskDeps, link: Link): (() => void)[] {
  const onRuns = (runs: Runs) => chooseRun(deps.facts, verbs, runs, link, deps.timer.now());
  const { lists } = deps;
  const changing = {
    apply: (status: Status, before: Status | undefined) => applyStatus(lists.peek(), status, before),
    retry: () => retryFailed(lists.peek()),
  };
  const polling = new Polling({ ...deps, changing, onRuns });
  const take = (status: Status) => polling.take(status);
  return [live.start(hasFocus(link), take), livePanel.start(), polling.start()];
}

function createTabVerbs(facts: Facts) {
  return {
    setSeen: setter(facts.seen),
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

function createDerived(deps: Deps<Facts>, dock: Dock) {
  const byKey = createByKey(deps);
  const structure = createStructure(deps, byKey);
  const origins = createOrigins(deps, byKey, structure);
  const values = createValues(deps, byKey);
  return {
    ...structure,
    ...createSource(deps, byKey, structure),
    ...origins,
    ...createDiagnoses(deps, byKey, structure, origins),
    ...createOverviews(deps, byKey),
    ...createSessionRuns(deps, byKey),
    ...createTables(deps, byKey),
    ...createPositions(deps, byKey, structure),
    ...values,
    ...createCurves(deps, byKey, values.valueView, dock),
    glance: createGlance(deps, dock),
    graph: createGraphView(deps, byKey, { ...structure, ...origins }, dock),
  };
}

type Verbs = ReturnType<typeof createVerbs>;

type AllDeps = VerbDeps & Deps<Facts>;

function createVerbs(deps: AllDeps, panels: Panels, choice: Choice) {
  const { facts } = deps;
  const focus = { ...createFocusVerbs(deps, choice), ...createSourceVerbs(facts, choice) };
  const filters = createFilterVerbs(facts);
  const values = createValueVerbs(facts);
  const { restoreAlert, setAlertType } = createAlertKeeping(deps, choice);
  return {
    ...focus,
    ...filters,
    ...values,
    ...createCurveVerbs(facts, focus, values),
    ...createHistoryVerbs(deps, choice),
    ...createOriginVerbs(facts, focus),
    ...createAlertVerbs(deps, choice),
    ...createFindingVerbs(focus),
    setAlertType,
    ...createSearchVerbs(deps, choice, focus, filters),
    ...createRunVerbs(facts, panels, choice, focus, filters, { restoreAlert, ...values }),
  };
}

function createFacts(): Facts {
  return {
    ...createRunFacts(),
    ...createListFacts(),
    ...createFocusFacts(),
    ...createAlertFacts(),
    ...createValueFacts(),
    ...createCurveFacts(),
  };
}
