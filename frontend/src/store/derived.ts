/** What follows from the facts: what the server knows of what is in focus, in the shape in which it is shown. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { ExecutionData, Status } from "../api/answers";
import type { Api, DiagnosisSubject, ListName } from "../api/routes";
import type { FrameId, GraphId, RunName } from "../base/ids";
import { type Loaded, shown } from "../base/loaded";
import { isBad } from "../model/health";
import { current } from "../model/history";
import { type Neighbourhood, ofExecution, ofGraphOp } from "../model/neighbourhood";
import type { OpSeen } from "../model/passed_on";
import type { SourcePlace } from "../model/source";
import { type Frame, framesOf, mainFrame } from "../model/stack";
import type { Activity } from "./activity";
import type { Facts, OpPlace } from "./facts";
import { isEmpty } from "./lists";
import { opSeen } from "./passed_on";
import { resource } from "./resource";

export type Derived = ReturnType<typeof createDerived>;

export function createDerived(api: Api, facts: Facts, activity: Activity) {
  const run = facts.run;
  const generation = computed(() => facts.status.value?.generation);
  const op = computed(() => current(facts.history.value));
  /** What failed may be there after a change, or when the server is back. */
  const again = computed(() => `${generation.value} ${facts.reconnects.value}`);

  const ask = <K, T>(key: ReadonlySignal<K | undefined>, load: (key: K, signal: AbortSignal) => Promise<T>) =>
    resource(key, load, activity, again);

  const execution = ask(
    computed(() => both(run.value, facts.execution.value)),
    ([name, index], signal) => api.execution(name, index, signal),
  );
  const inside = ask(
    computed(() => both(run.value, facts.execution.value)),
    ([name, index], signal) => api.locateExecution(name, index, signal),
  );
  const opInfo = ask(
    computed(() => both(run.value, op.value)),
    ([name, { graph, opName, trace }], signal) => opSeen(api, name, graph, opName, trace, signal),
  );
  const frameIds = computed(() => framesWanted(facts, opInfo.loaded.value, execution.loaded.value));
  const stack = ask(
    computed(() => both(run.value, frameIds.value)),
    ([name, ids], signal) => stackOf(api, name, ids, signal),
  );
  const shownFrame = computed(() => {
    if (facts.line.value !== undefined) return undefined;
    const frames = shown(stack.loaded.value) ?? [];
    return frames.find(({ id }) => id === facts.frame.value) ?? mainFrame(frames);
  });
  const source = ask(
    computed(() => both(run.value, facts.line.value?.file ?? shownFrame.value?.file)),
    ([name, file], signal) => api.source(name, file, signal),
  );
  const sourcePlace = computed((): SourcePlace | undefined => {
    const chosen = facts.line.value;
    if (chosen === undefined) return shownFrame.value;
    return { ...chosen, path: ready(source.loaded.value)?.file_path ?? "", text: undefined };
  });
  const breadcrumb = ask(
    computed(() => both(run.value, shown(opInfo.loaded.value)?.graph_ids)),
    ([name, ids], signal) => graphNames(api, name, ids, signal),
  );
  const calledGraph = ask(
    computed(() => both(run.value, shown(execution.loaded.value)?.graph_id || undefined)),
    ([name, id], signal) => api.graph(name, id, signal),
  );
  const nestedGraphs = ask(
    computed(() => both(run.value, shown(calledGraph.loaded.value)?.inner_graph_ids.slice(0, MOST_NESTED))),
    ([name, ids], signal) => graphNames(api, name, ids, signal),
  );
  const neighbours = computed(() =>
    neighbourhood(facts, op.value, opInfo.loaded.value, execution.loaded.value),
  );
  const firstBad = ask(
    computed(() => {
      const hasAlert = (facts.status.value?.num_alerts ?? 0) > 0;
      return both(run.value, hasAlert ? generation.value : undefined);
    }),
    ([name], signal) => api.diagnosis(name, undefined, signal),
  );
  const explanation = ask(
    computed(() => both(run.value, badSubject(facts, op.value, ready(neighbours.value)))),
    ([name, subject], signal) => api.diagnosis(name, subject, signal),
  );
  // No more buckets than rows: a bucket without a row would look like a row without a value.
  const overview = (name: ListName, pixels: ReadonlySignal<number>, rows: (status: Status) => number) =>
    ask(
      computed(() => {
        const status = facts.status.value;
        const buckets = status === undefined ? 0 : Math.min(pixels.value, rows(status));
        return both(run.value, buckets > 0 ? { buckets, generation: status?.generation } : undefined);
      }),
      ([runName, wanted], signal) => api.overview(runName, name, wanted.buckets, signal),
    );
  const leftOut = computed(() => facts.onlyBad.value || !isEmpty(facts.filter.value));
  const chosenRow = ask(
    computed(() => {
      const index = facts.graphExecution.value;
      const wanted = { index, onlyBad: facts.onlyBad.value, filter: facts.filter.value };
      if (!leftOut.value || index === undefined) return undefined;
      return both(run.value, { ...wanted, index, generation: generation.value });
    }),
    async ([name, { index, onlyBad, filter }], signal) =>
      (await api.locateGraphExecution(name, index, onlyBad, filter, signal)).before ?? 0,
  );

  return {
    op,
    executionData: execution.loaded,
    /** Which graph executions ran inside the execution in focus. */
    inside: inside.loaded,
    opInfo: opInfo.loaded,
    stack: stack.loaded,
    /** The frame whose line is shown; none while a line is that was chosen by itself. */
    shownFrame,
    /** The line that is shown. */
    sourcePlace,
    source: source.loaded,
    /** The graph of the op in focus and those around it, outermost first. */
    breadcrumb: breadcrumb.loaded,
    /** The graph that the execution in focus ran. */
    calledGraph: calledGraph.loaded,
    nestedGraphs: nestedGraphs.loaded,
    /** The diagnosis of the first cause, whichever alerts are shown. */
    firstBad: firstBad.loaded,
    neighbourhood: neighbours,
    /** The diagnosis of the op or execution in focus; undefined when none of its outputs is bad. */
    explanation: explanation.loaded,
    /** Where the row in focus stands in the list that is shown. */
    graphExecutionPosition: computed(() =>
      leftOut.value ? ready(chosenRow.loaded.value) : facts.graphExecution.value,
    ),
    /** Whether the list of graph executions is not all of it. */
    leftOut,
    /** The row that the list brings into view: the one in focus, or the first that ran inside the execution in focus. */
    revealedGraphExecution: computed(() => {
      if (leftOut.value) return ready(chosenRow.loaded.value);
      return facts.subject.value === "op"
        ? facts.graphExecution.value
        : ready(inside.loaded.value)?.graph_execution_begin;
    }),
    /** Rows of the list of graph executions that are inputs of the op in focus. */
    inputGraphExecutions: computed(() => inputGraphExecutions(facts, ready(opInfo.loaded.value))),
    timelineOverview: overview("executions", facts.timelineBuckets, (status) => status.num_executions).loaded,
    graphExecutionOverview: overview(
      "graph_executions",
      facts.graphExecutionBuckets,
      (status) => status.num_graph_executions,
    ).loaded,
  };
}

export const MOST_NESTED = 24;

function both<A, B>(a: A | undefined, b: B | undefined): readonly [A, B] | undefined {
  return a === undefined || b === undefined ? undefined : [a, b];
}

function ready<T>(loaded: Loaded<T> | undefined): T | undefined {
  return loaded?.kind === "ready" ? loaded.value : undefined;
}

const NO_FRAMES: { readonly stack_frame_ids: readonly FrameId[] } = { stack_frame_ids: [] };

function framesWanted(
  facts: Facts,
  opInfo: Loaded<OpSeen> | undefined,
  execution: Loaded<ExecutionData> | undefined,
): readonly FrameId[] | undefined {
  const { stack_frame_ids: ids } =
    (facts.subject.value === "op" ? shown(opInfo) : shown(execution)) ?? NO_FRAMES;
  return ids.length === 0 ? undefined : ids;
}

async function stackOf(
  api: Api,
  run: RunName,
  ids: readonly FrameId[],
  signal: AbortSignal,
): Promise<readonly Frame[]> {
  return framesOf(ids, await api.frames(run, ids, signal));
}

async function graphNames(api: Api, run: RunName, ids: readonly GraphId[], signal: AbortSignal) {
  return Promise.all(ids.map(async (id) => ({ id, name: (await api.graph(run, id, signal)).name })));
}

function neighbourhood(
  facts: Facts,
  place: OpPlace | undefined,
  opInfo: Loaded<OpSeen> | undefined,
  execution: Loaded<ExecutionData> | undefined,
): Loaded<Neighbourhood> | undefined {
  if (facts.subject.value === "execution") return mapLoaded(execution, ofExecution);
  if (place === undefined) return undefined;
  return mapLoaded(opInfo, (info) => ofGraphOp(info, info.graph_ids.at(-1) ?? place.graph, place.owner));
}

/** What the explanation of the graph structure is about: the op or execution in focus if an output is bad. */
function badSubject(
  facts: Facts,
  op: OpPlace | undefined,
  neighbours: Neighbourhood | undefined,
): DiagnosisSubject | undefined {
  if (neighbours?.outputs.some(isBad) !== true) return undefined;
  if (facts.subject.value === "op") return op && { graph_id: op.graph, op_name: op.opName, at: op.trace };
  return facts.execution.value === undefined ? undefined : { execution: facts.execution.value };
}

function mapLoaded<A, B>(loaded: Loaded<A> | undefined, make: (value: A) => B): Loaded<B> | undefined {
  if (loaded === undefined || loaded.kind === "failed") return loaded;
  if (loaded.kind === "ready") return { kind: "ready", value: make(loaded.value) };
  return { kind: "loading", stale: loaded.stale === undefined ? undefined : make(loaded.stale) };
}

/** Only earlier rows: a trace that came later was not what the op in focus was given. */
function inputGraphExecutions(facts: Facts, info: OpSeen | undefined): ReadonlySet<number> {
  const at = facts.graphExecution.value;
  if (info === undefined || at === undefined || facts.subject.value !== "op") return new Set();
  const rows = info.inputs.map((input) => {
    const { data, output_slot } = input.same ?? input;
    return data?.outputs[output_slot]?.health?.graph_execution_index;
  });
  return new Set(rows.filter((row) => row !== undefined && row < at) as number[]);
}
