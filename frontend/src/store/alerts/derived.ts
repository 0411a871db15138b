/** The verdict on the run, the origins of its bad values, their diagnoses, and the one in focus. */
import { batch, computed, signal } from "@preact/signals";
import type { Alert, Origin } from "../../api/answers";
import type { Api, DiagnosisSubject } from "../../api/routes";
import type { ValueRef } from "../../api/values";
import type { ExecutionIndex, GraphExecutionIndex, RunName } from "../../base/ids";
import { type Loaded, sentence, shown } from "../../base/loaded";
import { fromWire, isBad } from "../../model/health";
import { chainKeys, chainSteps, originsOf, stepInFocus } from "../../model/origin";
import { graphExecutionRow } from "../../model/rows";
import { mayHoldValue } from "../../model/values/value_ref";
import type { FocusedFacts } from "../focus/facts";
import type { Structure } from "../focus/structure";
import { type ByKey, both, type Deps, ready } from "../run/run";
import type { AlertFacts } from "./verbs";

export type OriginValues = ReturnType<typeof createOrigins>;

const NONE: readonly Origin[] = [];

export function createOrigins(
  deps: Deps<FocusedFacts & AlertFacts>,
  byKey: ByKey,
  { focusTarget }: Structure,
) {
  const { api, facts } = deps;
  const replay = createReplay(deps);
  /** Asked again only when the server has another answer, which lags while a run grows. */
  const originList = byKey(
    () => {
      const { num_alerts = 0, generation, origins_generation } = facts.status.value ?? {};
      const asked = num_alerts > 0 ? (origins_generation ?? generation) : undefined;
      // What was tried is in a file, which makes no generation.
      return both(facts.run.value, both(asked, replay.edition.value));
    },
    ([run], signal) => api.origins(run, signal),
    2,
  );
  const origins = computed(() => originsOf(shown(originList.value) ?? NONE, facts.origin.value));
  const chain = computed(() => chainSteps(origins.value.shown?.chain ?? []));
  return {
    /** What is to be said of the run. What is meant is kept in a file, which makes no generation. */
    verdict: byKey(
      () => both(facts.run.value, both(facts.status.value?.generation, facts.meant.value)),
      ([run], signal) => api.verdict(run, signal),
      2,
    ),
    originList,
    origins,
    replay,
    /** From the first bad value that the program shows back to its birth. */
    chain,
    /** The ops and executions of the chain, for the marks of the graph structure. */
    chainKeys: computed(() => chainKeys(chain.value)),
    /** The step of the chain that is in focus. */
    chainStep: computed(() => stepInFocus(chain.value, focusTarget.value)),
  };
}

/** Runs the first call again that GUARD has kept of the run in focus. */
function createReplay({ api, facts, activity }: Deps) {
  const edition = signal(0);
  /** Of which run the last one was, and why it failed. */
  const last = signal<{ readonly run: RunName; readonly failure?: string } | undefined>(undefined);
  const isRunning = signal(false);
  return {
    /** Rises when a call has run again. */
    edition,
    isRunning,
    /** Why the last one of the run in focus failed. */
    failure: computed(() => (last.value?.run === facts.run.value ? last.value?.failure : undefined)),
    /** Whether the run in focus has such calls. */
    isOffered: computed(() => (facts.status.value?.kept_calls ?? 0) > 0),
    async start(): Promise<void> {
      const run = facts.run.peek();
      if (run === undefined) return;
      isRunning.value = true;
      const failed = await activity.track(api.replay(run)).then(
        () => ({}),
        (error: unknown) => ({ failure: sentence(error) }),
      );
      batch(() => {
        isRunning.value = false;
        last.value = { run, ...failed };
        edition.value++;
      });
    },
  };
}

/** Where a value is on record. */
interface ValuePlace {
  readonly graphExecution: GraphExecutionIndex | undefined;
  readonly execution: ExecutionIndex | undefined;
  readonly slot: number;
}

export function createDiagnoses(
  { api, facts }: Deps<FocusedFacts & AlertFacts>,
  byKey: ByKey,
  structure: Structure,
  { originList, origins }: OriginValues,
) {
  /**
   * The diagnosis of the first cause when no origin explains the alerts, whichever alerts are shown. The
   * generation is a key: it may change the answer.
   */
  const firstBad = byKey(
    () => {
      const { num_alerts = 0, generation } = facts.status.value ?? {};
      const isUnexplained = isAnswered(originList.value) && origins.value.shown === undefined;
      return both(facts.run.value, num_alerts > 0 && isUnexplained ? generation : undefined);
    },
    ([name], signal) => api.diagnosis(name, undefined, signal),
  );
  return {
    firstBad,
    /** The value of the first cause; undefined when its record holds no elements. */
    firstBadValue: byKey(
      () => both(facts.run.value, placeOfAlert(ready(firstBad.value)?.alert)),
      ([name, place]) => valueAt(api, name, place),
    ),
    /** The value of the origin that is shown; undefined when its record holds no elements. */
    originValue: byKey(
      () => both(facts.run.value, placeOfOrigin(origins.value.shown)),
      ([name, place]) => valueAt(api, name, place),
    ),
    /** The diagnosis of the op or execution in focus; undefined when none of its outputs is bad. */
    explanation: byKey(
      () => both(facts.run.value, badSubject(facts, structure)),
      ([name, subject], signal) => api.diagnosis(name, subject, signal),
    ),
  };
}

function badSubject(facts: FocusedFacts, { op, neighbourhood }: Structure): DiagnosisSubject | undefined {
  if (ready(neighbourhood.value)?.outputs.some(isBad) !== true) return undefined;
  if (facts.subject.value === "op")
    return op.value && { graph_id: op.value.graph, op_name: op.value.opName, at: op.value.graphExecution };
  return facts.execution.value === undefined ? undefined : { execution: facts.execution.value };
}

function isAnswered(loaded: Loaded<unknown> | undefined): boolean {
  return loaded?.kind === "failed" || (loaded !== undefined && shown(loaded) !== undefined);
}

function placeOfAlert(alert: Alert | undefined): ValuePlace | undefined {
  if (alert === undefined) return undefined;
  const {
    graph_execution_trace_index: graphExecution,
    execution_index: execution,
    output_slot: slot,
  } = alert;
  return { graphExecution, execution, slot };
}

/** The execution of an op of a graph is that of the call. */
function placeOfOrigin(origin: Origin | undefined): ValuePlace | undefined {
  if (origin === undefined) return undefined;
  const { graph_execution_index: graphExecution, execution_index, op_name, output_slot: slot } = origin;
  return { graphExecution, execution: op_name === undefined ? execution_index : undefined, slot };
}

/** The value at a place; undefined when its record holds no elements. */
async function valueAt(api: Api, run: RunName, place: ValuePlace): Promise<ValueRef | undefined> {
  const { graphExecution, execution, slot } = place;
  if (graphExecution !== undefined) {
    const page = await api.graphExecutionRows(run, graphExecution, graphExecution + 1, false);
    const isKept = page.end > page.begin && mayHoldValue(graphExecutionRow(page, 0).summary);
    return isKept ? { kind: "graph_execution", index: graphExecution } : undefined;
  }
  if (execution === undefined) return undefined;
  const { outputs } = await api.execution(run, execution);
  return mayHoldValue(fromWire(outputs[slot])) ? { kind: "execution", index: execution, slot } : undefined;
}
