/** The overviews of the long lists. */
import type { ReadonlySignal } from "@preact/signals";
import type { Status } from "../../api/answers";
import type { ListName } from "../../api/routes";
import { executionsOf } from "../../model/status";
import { type ByKey, both, type Deps } from "../run/run";
import type { ListedFacts } from "./run_lists";

/** Most runs of sessions that are listed. */
const SESSION_RUNS = 200;

export function createOverviews({ api, facts }: Deps<ListedFacts>, byKey: ByKey) {
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
export function createSessionRuns({ api, facts }: Deps<ListedFacts>, byKey: ByKey) {
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
