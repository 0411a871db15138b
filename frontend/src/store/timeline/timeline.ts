/** The timeline of the run: the window that is seen, what ran in it, and the range that filters the lists. */
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { executionIndex, graphExecutionIndex, type RunName } from "../../base/ids";
import { shown } from "../../base/loaded";
import { valueIn } from "../../model/filters";
import type { Mark } from "../../model/timeline/layout";
import { type Span, type TimelineAxis, within, zoomed } from "../../model/timeline/window";
import { setter, type Timer } from "../common/activity";
import type { Dock } from "../dock/dock";
import type { FocusVerbs } from "../focus/verbs";
import type { FilterVerbs, ListedFacts } from "../lists/run_lists";
import { type ByKey, both, type Deps, type RunFacts } from "../run/run";

/** Parts of the whole run in the minimap. */
const WHOLE_PARTS = 400;
/** How long a window rests before it is asked for, so that a movement is not a flood of requests. */
const REST_S = 0.08;
/** How much of the window is seen after a click on rows that have no room of their own. */
const NEARER = 1 / 8;
const MOST_BINS = 4096;

interface TimelineDeps extends Deps<ListedFacts> {
  readonly timer: Timer;
  readonly dock: Dock;
  readonly timeline: TimelineFacts;
  readonly verbs: Pick<FocusVerbs, "focusExecution" | "focusGraphExecution"> &
    Pick<FilterVerbs, "filterAllLists" | "forgetWord">;
}

/** A part of the timeline of a run; another run has nothing of it. */
interface Placed extends Span {
  readonly of: RunName | undefined;
}

/** A range, and the term of the filters that it became; undefined until it is known. */
interface Chosen extends Placed {
  readonly since?: string;
}

export type TimelineFacts = ReturnType<typeof createTimelineFacts>;

export function createTimelineFacts() {
  return {
    axis: signal<TimelineAxis>("time"),
    /** The window that is seen; undefined for the whole run. */
    wished: signal<Placed | undefined>(undefined),
    /** The window that is asked for. */
    rested: signal<Placed | undefined>(undefined),
    /** The number of parts of a window. */
    bins: signal(0),
    /** The range that filters the lists, on the axis that is shown. */
    chosen: signal<Chosen | undefined>(undefined),
  };
}

/** A part of the run in focus; undefined for one of another run. */
function ownPart(run: RunFacts, { value: part }: ReadonlySignal<Placed | undefined>): Span | undefined {
  return part === undefined || part.of !== run.run.value ? undefined : { begin: part.begin, end: part.end };
}

/** What is asked for while the timeline is open. */
function createAnswers(
  { api, facts: run, dock }: TimelineDeps,
  { axis, bins, rested }: TimelineFacts,
  byKey: ByKey,
) {
  const asked = (rest: () => { bins: number; window: Span | undefined } | undefined, most?: number) =>
    byKey(
      () =>
        dock.open.value !== "timeline"
          ? undefined
          : both(run.run.value, both(rest(), { axis: axis.value, at: run.status.value?.generation })),
      async ([name, [{ bins, window }, { axis }]], signal) => ({
        axis,
        answer: await api.timeline(name, axis, bins, window, signal),
      }),
      most,
    );
  return {
    whole: asked(() => ({ bins: WHOLE_PARTS, window: undefined }), 2),
    seen: asked(() => (bins.value > 0 ? { bins: bins.value, window: ownPart(run, rested) } : undefined)),
  };
}

export function createTimeline(deps: TimelineDeps, byKey: ByKey) {
  const { timeline: facts } = deps;
  const { axis, wished } = facts;
  const { whole, seen } = createAnswers(deps, facts, byKey);
  // An older answer may be of the other axis.
  const onAxis = (loaded: typeof seen) =>
    computed(() => {
      const found = shown(loaded.value);
      return found?.axis === axis.value ? found.answer : undefined;
    });
  const wholeAnswer = onAxis(whole);
  const extent = computed((): Span | undefined => {
    const answer = wholeAnswer.value;
    return answer && { begin: answer.first, end: answer.last };
  });
  return {
    ...facts,
    /** What ran in the whole run, in few parts. */
    whole: wholeAnswer,
    /** What ran in the window, or in an earlier one until it is there. */
    seen: onAxis(seen),
    failure: computed(() =>
      [seen.value, whole.value]
        .flatMap((loaded) => (loaded?.kind === "failed" ? [loaded.message] : []))
        .at(0),
    ),
    /** The whole run on the axis. */
    extent,
    /** The window that is seen. */
    window: computed(() => ownPart(deps.facts, wished) ?? extent.value),
    /** The range that filters the lists. */
    chosen: computed(() => (isInFilters(deps.facts, facts) ? ownPart(deps.facts, facts.chosen) : undefined)),
    ...createTimelineVerbs(deps, facts, extent),
    ...createRangeVerbs(deps, facts),
  };
}

/** Whether some list still has the range in its filter; the reader may have removed it there. */
function isInFilters({ wishes }: ListedFacts, { chosen }: TimelineFacts): boolean {
  const since = chosen.value?.since;
  return (
    since === undefined || Object.values(wishes).some(({ value }) => valueIn(value.filter, "since") === since)
  );
}

function createTimelineVerbs(
  { timer, verbs, facts: run }: TimelineDeps,
  { axis, wished, rested, bins, chosen }: TimelineFacts,
  extent: ReadonlySignal<Span | undefined>,
) {
  let stopWaiting = () => {};
  /** Shows a part of the run; without one, all of it. */
  function look(window: Span | undefined): void {
    const whole = extent.peek();
    wished.value = window && whole && { ...within(window, whole, axis.peek()), of: run.run.peek() };
    stopWaiting();
    stopWaiting = timer.after(REST_S, () => {
      rested.value = wished.peek();
    });
  }
  return {
    look,
    setWidth: (pixels: number) => setter(bins)(Math.min(MOST_BINS, Math.max(0, Math.floor(pixels / 2)))),
    setAxis(next: TimelineAxis): void {
      batch(() => {
        for (const fact of [wished, rested, chosen]) fact.value = undefined;
        axis.value = next;
      });
    },
    /** Brings a row into focus, or the first bad one of several; of those that are not bad, shows them nearer. */
    open(mark: Mark): void {
      const position = mark.kind === "row" ? mark.position : mark.firstBad;
      const whole = extent.peek();
      if (position === undefined) {
        const window = ownPart(run, wished) ?? whole;
        if (window === undefined || whole === undefined) return;
        const share = (mark.begin - window.begin) / (window.end - window.begin);
        look(zoomed(window, NEARER, share, whole, axis.peek()));
      } else if (mark.list === "executions") verbs.focusExecution(executionIndex(position));
      else if (mark.list === "graph_executions" || mark.list === "op_times")
        void verbs.focusGraphExecution(graphExecutionIndex(position));
    },
  };
}

function createRangeVerbs(
  { api, facts: run, activity, verbs }: TimelineDeps,
  { axis, chosen }: TimelineFacts,
) {
  return {
    /** Lists only the rows of a range. */
    async choose(range: Span): Promise<void> {
      const name = run.run.peek();
      if (name === undefined) return;
      const placed = { ...range, of: name };
      chosen.value = placed;
      const { since, until } = await activity.track(api.timeline(name, axis.peek(), 1, range));
      if (chosen.peek() !== placed) return;
      if (since === undefined || until === undefined) chosen.value = undefined;
      else {
        chosen.value = { ...placed, since: String(since) };
        verbs.filterAllLists({ since: String(since), before: String(until) });
      }
    },
    showAllRows(): void {
      chosen.value = undefined;
      verbs.forgetWord("since");
      verbs.forgetWord("before");
    },
  };
}
