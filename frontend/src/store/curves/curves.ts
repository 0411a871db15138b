/**
 * Numbers over time: the curves of the tensor that is shown and of those that were kept beside it, and the
 * gradients by variable. They are asked for while they are seen, and again when the run has grown.
 */
import { batch, computed, type ReadonlySignal } from "@preact/signals";
import type { CurveSource, ExponentMap, GradientFlow } from "../../api/curves";
import type { ValueRef } from "../../api/values";
import { executionIndex, type GraphExecutionIndex, graphExecutionIndex } from "../../base/ids";
import { type Loaded, shown } from "../../base/loaded";
import {
  type AxisName,
  chosenNumber,
  type DrawnCurve,
  type Span,
  sourceKey,
  withoutRepeats,
} from "../../model/curves";
import type { ValueView } from "../../model/values/view";
import { setter } from "../common/activity";
import type { Dock } from "../dock/dock";
import type { FocusVerbs } from "../focus/verbs";
import type { ByKey, Deps, RunFacts } from "../run/run";
import type { ValueFacts, ValueVerbs } from "../values/verbs";
import type { CurveFacts } from "./facts";

/** About as many points as a chart has pixels. */
const POINTS = 1000;
const FLOW_COLUMNS = 100;
/** So that a cell is still seen. */
const EXPONENT_COLUMNS = 300;
const KEPT = 8;
/** As many as have a look of their own. */
export const MOST_BESIDE = 5;

type Facts = RunFacts & ValueFacts & CurveFacts;

export function createCurves(
  deps: Deps<Facts>,
  byKey: ByKey,
  valueView: ReadonlySignal<ValueView | undefined>,
  dock: Dock,
) {
  const { api, facts } = deps;
  const gradientFlow: ReadonlySignal<Loaded<GradientFlow> | undefined> = byKey(
    () => {
      const run = facts.run.value;
      const isOpen = dock.open.value === "gradients" || dock.open.value === "glance";
      return run === undefined || !isOpen ? undefined : { run, generation: facts.status.value?.generation };
    },
    ({ run }, signal) => api.gradientFlow(run, FLOW_COLUMNS, signal),
    KEPT,
  );
  const drawnCurves = createDrawn(deps, byKey, valueView);
  return {
    drawnCurves,
    exponentMap: createExponents(deps, byKey, valueView, drawnCurves),
    gradientFlow,
    /** Whether the curve is shown in place of elements. */
    isCurveSeen: computed(() => valueView.value !== undefined && isSeen(facts, valueView.value)),
  };
}

function createDrawn(
  { api, facts }: Deps<Facts>,
  byKey: ByKey,
  valueView: ReadonlySignal<ValueView | undefined>,
): ReadonlySignal<Loaded<readonly DrawnCurve[]> | undefined> {
  return byKey(
    () => {
      const [run, view] = [facts.run.value, valueView.value];
      if (run === undefined || view === undefined || !isSeen(facts, view)) return undefined;
      const sources = unlike([view.historyOf, ...facts.besideCurves.value]);
      const [number, span] = [facts.curveNumber.value, spanFor(facts, view.historyOf)];
      return { run, sources, number, span, generation: facts.status.value?.generation };
    },
    async ({ run, sources, number, span }, signal) => {
      const draw = (wanted: string | undefined) =>
        Promise.all(
          sources.map(async (source) => {
            const asked = { number: wanted, begin: span?.begin, end: span?.end, most: POINTS };
            return { source, curve: await api.curve(run, source, asked, signal) };
          }),
        );
      const curves = await draw(number);
      const chosen = chosenNumber(curves, number);
      const isAsked = curves.every(({ curve }) => curve.number === chosen);
      return withoutRepeats(isAsked ? curves : await draw(chosen));
    },
    KEPT,
  );
}

/** The histogram of the tensor that is shown, if it is wanted and there is one. */
function createExponents(
  { api, facts }: Deps<Facts>,
  byKey: ByKey,
  valueView: ReadonlySignal<ValueView | undefined>,
  drawnCurves: ReadonlySignal<Loaded<readonly DrawnCurve[]> | undefined>,
): ReadonlySignal<Loaded<ExponentMap> | undefined> {
  return byKey(
    () => {
      const [run, view] = [facts.run.value, valueView.value];
      const isOnRecord = shown(drawnCurves.value)?.[0]?.curve.has_exponents === true;
      if (run === undefined || view === undefined || !isSeen(facts, view)) return undefined;
      if (!facts.areExponentsWanted.value || !isOnRecord) return undefined;
      const source = view.historyOf;
      return { run, source, span: spanFor(facts, source), generation: facts.status.value?.generation };
    },
    ({ run, source, span }, signal) =>
      api.exponents(run, source, { begin: span?.begin, end: span?.end, most: EXPONENT_COLUMNS }, signal),
    KEPT,
  );
}

/** The occurrences of a tensor that are drawn; undefined for all. */
function spanFor(facts: CurveFacts, source: CurveSource): Span | undefined {
  const wanted = facts.curveSpan.value;
  return wanted?.of === sourceKey(source) ? wanted : undefined;
}

/** A value that is not kept has nothing else to show; that of a program has a history of its own. */
function isSeen({ valueTab }: Facts, { ref, info }: ValueView): boolean {
  return ref.kind !== "live" && (!info.is_kept || valueTab.value === "curve");
}

function unlike(sources: readonly CurveSource[]): readonly CurveSource[] {
  return [...new Map(sources.map((source) => [sourceKey(source), source])).values()];
}

export function createCurveVerbs(
  facts: CurveFacts,
  { focusGraphExecution, focusExecution }: Pick<FocusVerbs, "focusGraphExecution" | "focusExecution">,
  { showOccurrence, showValue }: Pick<ValueVerbs, "showOccurrence" | "showValue">,
) {
  /** Brings a computation into focus; that of the tensor that is shown is shown, too. */
  function goToComputation(source: CurveSource, index: number, isShown: boolean): void {
    const ref: ValueRef =
      source.kind === "execution"
        ? { ...source, index: executionIndex(index) }
        : { kind: "graph_execution", index: graphExecutionIndex(index) };
    batch(() => {
      if (ref.kind === "execution") focusExecution(ref.index);
      else void focusGraphExecution(ref.index);
      if (isShown) showOccurrence(ref);
    });
  }
  return {
    ...createChartVerbs(facts),
    goToComputation,
    /** Brings a computation of a curve into focus. */
    goToPoint({ source, curve }: DrawnCurve, point: number, isShown: boolean): void {
      const index = curve.columns.get("index")?.[point];
      if (index !== undefined) goToComputation(source, index, isShown);
    },
    /** Brings a computation into focus and opens its curve. */
    openCurve(index: GraphExecutionIndex): void {
      batch(() => {
        void focusGraphExecution(index);
        showValue({ kind: "graph_execution", index });
      });
    },
  };
}

/** How curves are drawn, and which. */
function createChartVerbs(facts: CurveFacts) {
  const { besideCurves } = facts;
  return {
    drawNumber(number: string): void {
      batch(() => {
        facts.curveNumber.value = number;
        facts.areExponentsWanted.value = false;
      });
    },
    /** Draws magnitudes by powers of two. */
    drawExponents(): void {
      facts.areExponentsWanted.value = true;
    },
    setCurveAxis: setter<AxisName>(facts.curveAxis),
    setCurveLog: setter(facts.isCurveLog),
    /** Draws a range of occurrences only; without one, all. */
    zoomCurve: setter(facts.curveSpan),
    /** Keeps a tensor in the chart when another one is shown. */
    keepCurve(source: CurveSource): void {
      const others = besideCurves.peek().filter((one) => sourceKey(one) !== sourceKey(source));
      besideCurves.value = [...others, source].slice(-MOST_BESIDE);
    },
    dropCurve(source: CurveSource): void {
      besideCurves.value = besideCurves.peek().filter((one) => sourceKey(one) !== sourceKey(source));
    },
  };
}
