/** The picture of the graph around the op in focus: how far it reaches, what is one box in it, and its ops. */
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Neighbours } from "../../api/answers";
import { type Loaded, mapLoaded } from "../../base/loaded";
import { type Grouping, nearPicture, wayKeys } from "../../model/graph/near";
import type { GraphPicture } from "../../model/graph/picture";
import type { ChainStep } from "../../model/origin";
import { setter } from "../common/activity";
import type { Dock } from "../dock/dock";
import type { FocusedFacts, OpFocus } from "../focus/facts";
import type { ByKey, Deps } from "../run/run";

export const MOST_HOPS = 6;
/** Ops that are drawn at first, and added each time when more are asked for. */
const OPS = 120;
const MOST_OPS = 960;
/** The number of answers that are kept. */
const KEPT = 16;

interface Around {
  readonly op: ReadonlySignal<OpFocus | undefined>;
  readonly chain: ReadonlySignal<readonly ChainStep[]>;
}

export type GraphView = ReturnType<typeof createGraphView>;

export function createGraphView(
  { api, facts }: Deps<FocusedFacts>,
  byKey: ByKey,
  { op, chain }: Around,
  dock: Dock,
) {
  const hops = signal(2);
  const by = signal<Grouping>("op");
  const opened = signal<ReadonlySet<string>>(new Set());
  const limit = signal(OPS);
  const near: ReadonlySignal<Loaded<Neighbours> | undefined> = byKey(
    () => {
      const [run, at] = [facts.run.value, op.value];
      if (run === undefined || at === undefined || dock.open.value !== "graph") return undefined;
      const { graph, opName, graphExecution } = at;
      const asked = { graph, opName, at: graphExecution, hops: hops.value, limit: limit.value };
      // An op that ran since then has other numbers near it.
      return { run, asked, generation: facts.status.value?.generation };
    },
    ({ run, asked }, abort) => api.neighbours(run, asked, abort),
    KEPT,
  );
  return {
    hops,
    by,
    opened,
    picture: computed((): Loaded<GraphPicture> | undefined =>
      mapLoaded(near.value, (answer) =>
        nearPicture(answer, { by: by.value, opened: opened.value, way: wayKeys(chain.value) }),
      ),
    ),
    /** Whether more ops may be asked for. */
    mayShowMore: computed(() => limit.value < MOST_OPS),
    setHops(n: number): void {
      if (Number.isFinite(n)) hops.value = Math.max(1, Math.min(MOST_HOPS, Math.round(n)));
    },
    setGrouping(grouping: Grouping): void {
      batch(() => {
        by.value = grouping;
        opened.value = new Set();
      });
    },
    openGroup(key: string): void {
      opened.value = new Set([...opened.peek(), key]);
    },
    closeGroups: () => setter(opened)(new Set()),
    showMore(): void {
      limit.value = Math.min(MOST_OPS, limit.peek() * 2);
    },
  };
}
