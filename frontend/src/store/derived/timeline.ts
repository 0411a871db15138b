/** The overviews of the long lists, and the position of the focus in the list of graph executions. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { Status } from "../../api/answers";
import type { ListName } from "../../api/routes";
import { executionsOf } from "../../model/status";
import type { Deps } from "../deps";
import { isEmpty } from "../lists";
import { type ByKey, both, ready } from "./keyed";
import type { Structure } from "./structure";

/** Most runs of sessions that are listed. */
const SESSION_RUNS = 200;

export function createOverviews({ api, facts }: Deps, byKey: ByKey) {
  // A bucket without a row would look like a row without a value, so there are at most as many buckets as
  // rows.
  const overview = (
    list: ListName,
    pixels: ReadonlySignal<number>,
    rows: (status: Status) => number,
    edition: (status: Status) => string | number,
  ) =>
    byKey(
      () => {
        const status = facts.status.value;
        if (status === undefined) return undefined;
        const buckets = Math.min(pixels.value, rows(status));
        return both(facts.run.value, buckets > 0 ? { buckets, at: edition(status) } : undefined);
      },
      ([run, { buckets }], signal) => api.overview(run, list, buckets, signal),
    );
  return {
    timelineOverview: overview(
      "executions",
      facts.timelineBuckets,
      ({ num_executions }) => num_executions,
      executionsOf,
    ),
    graphExecutionOverview: overview(
      "graph_executions",
      facts.graphExecutionBuckets,
      ({ num_graph_executions }) => num_graph_executions,
      ({ generation }) => generation,
    ),
  };
}

/** The last runs of sessions, of a program in which Python ran nothing else. */
export function createSessionRuns({ api, facts }: Deps, byKey: ByKey) {
  const sessionRuns = byKey(
    () => {
      const status = facts.status.value;
      const isOnly = status?.num_executions === 0 && status.num_graph_executions > 0;
      return both(facts.run.value, isOnly ? { generation: status.generation } : undefined);
    },
    ([run], signal) => api.sessionRuns(run, SESSION_RUNS, signal),
  );
  return { sessionRuns };
}

export function createPositions({ api, facts }: Deps, byKey: ByKey, { inside }: Structure) {
  const leftOut = computed(() => facts.onlyBad.value || !isEmpty(facts.filter.value));
  const before = byKey(
    () => {
      const [index, onlyBad, filter] = [facts.graphExecution.value, facts.onlyBad.value, facts.filter.value];
      if (!leftOut.value || index === undefined) return undefined;
      return both(facts.run.value, { index, onlyBad, filter, generation: facts.status.value?.generation });
    },
    async ([run, { index, onlyBad, filter }], signal) =>
      (await api.locateGraphExecution(run, index, onlyBad, filter, signal)).before ?? 0,
  );
  return {
    /** Whether the list of graph executions leaves some out. */
    leftOut,
    /** The position of the row in focus in the list that is shown. */
    graphExecutionPosition: computed(() =>
      leftOut.value ? ready(before.value) : facts.graphExecution.value,
    ),
    /**
     * The row that the list brings into view: the one in focus, or the first that ran inside the execution in
     * focus.
     */
    revealedGraphExecution: computed(() => {
      if (leftOut.value) return ready(before.value);
      return facts.subject.value === "op"
        ? facts.graphExecution.value
        : ready(inside.value)?.graph_execution_begin;
    }),
  };
}
