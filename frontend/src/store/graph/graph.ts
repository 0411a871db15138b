/**
 * The picture of the graph around the op in focus, or of its whole function: how far it reaches, what is one
 * box in it, and its ops. It is asked for while it is seen.
 */
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { ExecutionData } from "../../api/answers";
import { type Loaded, mapLoaded, shown } from "../../base/loaded";
import { type Grouping, nearPicture, wayKeys } from "../../model/graph/near";
import type { GraphPicture } from "../../model/graph/picture";
import { type Part, wholePicture } from "../../model/graph/whole";
import type { ChainStep } from "../../model/origin";
import { setter } from "../common/activity";
import type { Dock } from "../dock/dock";
import type { FocusedFacts, OpFocus } from "../focus/facts";
import type { ByKey, Deps } from "../run/run";

export const MOST_HOPS = 6;
/** Ops that are drawn at first; each time when more are asked for, there are twice as many. */
const OPS = 120;
const MOST_OPS = 960;
/** The number of answers that are kept. */
const KEPT = 16;
/** Steps of the way of a bad value that are asked for in a whole graph. */
const MOST_ON_WAY = 60;

/** What is drawn: the ops around the one in focus, or its whole function. */
export type Extent = "near" | "whole";

/** Up to where tensors count: up to the one in focus, or all. */
export type Until = "focus" | "end";

/** What the picture is about. */
interface Around {
  readonly op: ReadonlySignal<OpFocus | undefined>;
  readonly executionData: ReadonlySignal<Loaded<ExecutionData> | undefined>;
  readonly chain: ReadonlySignal<readonly ChainStep[]>;
}

type Facts = ReturnType<typeof createFacts>;

function createFacts() {
  return {
    extent: signal<Extent>("near"),
    hops: signal(2),
    /** The largest number of ops. */
    limit: signal(OPS),
    /** What is one box in the picture of the ops around the one in focus. */
    grouping: signal<Grouping>("op"),
    /** What is one box in the picture of a whole function. */
    part: signal<Part>("layer"),
    /** Up to where bad tensors count in the picture of a whole function. */
    until: signal<Until>("focus"),
    /** The keys of the boxes that are open, and the names of the parts of a whole function that are. */
    opened: signal<ReadonlySet<string>>(new Set()),
  };
}

export function createGraphView(deps: Deps<FocusedFacts>, byKey: ByKey, around: Around, dock: Dock) {
  const facts = createFacts();
  const near = createNear(deps, byKey, around, dock, facts);
  const whole = createWhole(deps, byKey, around, dock, facts);
  return {
    ...facts,
    picture: computed(() => (facts.extent.value === "near" ? near.value : whole.value)),
    /** Whether more ops may be asked for. */
    mayShowMore: computed(() => facts.extent.value === "near" && facts.limit.value < MOST_OPS),
    ...createVerbs(facts),
  };
}

/** The ops around the one in focus, at the numbers that it has there. */
function createNear(
  { api, facts: { run, status, subject } }: Deps<FocusedFacts>,
  byKey: ByKey,
  { op, chain }: Around,
  dock: Dock,
  { extent, hops, limit, grouping, opened }: Facts,
): ReadonlySignal<Loaded<GraphPicture> | undefined> {
  const answer = byKey(
    () => {
      const [name, at] = [run.value, subject.value === "op" ? op.value : undefined];
      const isSeen = dock.open.value === "graph" && extent.value === "near";
      if (name === undefined || at === undefined || !isSeen) return undefined;
      const { graph, opName, graphExecution } = at;
      const asked = { graph, opName, at: graphExecution, hops: hops.value, limit: limit.value };
      return { name, asked, generation: status.value?.generation };
    },
    ({ name, asked }, abort) => api.neighbours(name, asked, abort),
    KEPT,
  );
  return computed(() => {
    const look = { by: grouping.value, opened: opened.value, way: wayKeys(chain.value) };
    return mapLoaded(answer.value, (found) => nearPicture(found, look));
  });
}

/** The function of the op in focus, or the one that the execution in focus called. */
function createWhole(
  { api, facts: { run, status, subject } }: Deps<FocusedFacts>,
  byKey: ByKey,
  { op, executionData, chain }: Around,
  dock: Dock,
  { extent, part, until, opened }: Facts,
): ReadonlySignal<Loaded<GraphPicture> | undefined> {
  return byKey(
    () => {
      const isOp = subject.value === "op";
      const graph = isOp ? op.value?.graph : shown(executionData.value)?.graph_id || undefined;
      const isSeen = dock.open.value === "graph" && extent.value === "whole";
      const name = run.value;
      if (name === undefined || graph === undefined || !isSeen) return undefined;
      const way = [...chain.value]
        .reverse()
        .flatMap(({ target }) => (target.kind === "op" && target.graph === graph ? [target.opName] : []));
      const onWay = way.slice(0, MOST_ON_WAY);
      const at = isOp && until.value === "focus" ? op.value?.graphExecution : undefined;
      const focus = isOp && op.value !== undefined ? [op.value.opName] : [];
      const asked = { graph, by: part.value, opened: [...opened.value], ops: [...onWay, ...focus], at };
      return { name, asked, numOnWay: onWay.length, generation: status.value?.generation };
    },
    async ({ name, asked, numOnWay }, abort) =>
      wholePicture({ answer: await api.graphOverview(name, asked, abort), numOnWay }),
    KEPT,
  );
}

function createVerbs({ extent, hops, limit, grouping, part, until, opened }: Facts) {
  const close = () => setter(opened)(new Set());
  return {
    setExtent: setter(extent),
    setUntil: setter(until),
    setHops(n: number): void {
      if (Number.isFinite(n)) hops.value = Math.max(1, Math.min(MOST_HOPS, Math.round(n)));
    },
    setGrouping(to: Grouping): void {
      batch(() => {
        grouping.value = to;
        close();
      });
    },
    setPart(to: Part): void {
      batch(() => {
        part.value = to;
        close();
      });
    },
    /** Opens a box that stands for several ops. */
    openBox(key: string): void {
      opened.value = new Set([...opened.peek(), key]);
    },
    closeBoxes: close,
    showMore(): void {
      limit.value = Math.min(MOST_OPS, limit.peek() * 2);
    },
  };
}
