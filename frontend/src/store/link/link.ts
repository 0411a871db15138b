/** Links: where one leads, and the one to what is shown. Another run has nothing of the one before. */
import { batch, computed, type ReadonlySignal } from "@preact/signals";
import type { Runs } from "../../api/answers";
import type { AlertIndex, RunName } from "../../base/ids";
import { NO_FILTER, withTerm } from "../../model/filters";
import { NO_HISTORY } from "../../model/history";
import { isLong, longOf } from "../../model/inventory";
import { type Link, PANELS } from "../../model/link";
import { runToOpen } from "../../model/runs";
import type { AlertFacts } from "../alerts/verbs";
import type { CurveFacts } from "../curves/facts";
import type { Dock } from "../dock/dock";
import type { Choice, FocusedFacts, OpFocus } from "../focus/facts";
import type { FocusVerbs } from "../focus/verbs";
import { type FilterVerbs, wishOf } from "../lists/run_lists";
import type { SourceVerbs } from "../source/source";
import type { TimelineFacts } from "../timeline/timeline";
import type { ValueFacts, ValueVerbs } from "../values/verbs";

export type Facts = FocusedFacts & AlertFacts & ValueFacts & CurveFacts;

/** What decides which panel is open, and what it shows. */
export interface Panels {
  readonly dock: Dock;
  readonly timeline: TimelineFacts;
}

/** The link that leads back to what is shown now. */
export function createLink(
  facts: Facts,
  panels: Panels,
  opInFocus: ReadonlySignal<OpFocus | undefined>,
): ReadonlySignal<Link> {
  return computed(() => {
    const op = opInFocus.value;
    const isOp = facts.subject.value === "op";
    return {
      ...valueLink(facts),
      ...panelLink(facts, panels),
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
      ...listLink(facts),
      onlyBad: facts.onlyBad.value ? true : undefined,
      alertType: facts.alertType.value,
      alert: facts.alert.value,
    };
  });
}

/** The part of the link about the panel that the reader opened; those of programs that run are in no link. */
function panelLink({ run }: Facts, { dock, timeline }: Panels): Link {
  const panel = PANELS.find((name) => name === dock.chosen.value);
  if (panel !== "timeline") return { panel };
  const window = timeline.wished.value;
  return {
    panel,
    axis: timeline.axis.value === "time" ? undefined : timeline.axis.value,
    window: window?.of === run.value && window ? { begin: window.begin, end: window.end } : undefined,
  };
}

/** Opens the panel of a link; without one, all stays as it is. */
function openPanel({ run }: Facts, { dock, timeline }: Panels, { panel, axis, window }: Link): void {
  if (panel === undefined) return;
  dock.show(panel);
  if (panel !== "timeline") return;
  timeline.axis.value = axis ?? "time";
  timeline.wished.value = timeline.rested.value = window && { ...window, of: run.peek() };
}

/** The part of the link about the list below the timeline. */
function listLink(facts: Facts): Link {
  const list = facts.shownList.value;
  const { filter, order } = wishOf(facts, list);
  return {
    list: list === "graph_executions" ? undefined : list,
    filter: filter.length > 0 ? filter : undefined,
    sort: order,
  };
}

/** Shows the list of a link. */
function openList(facts: Facts, { list = "graph_executions", filter = [], sort, host, layer }: Link): void {
  facts.shownList.value = list;
  const earlier = [
    ...(host === undefined ? [] : [{ word: "process", sign: ":", value: host } as const]),
    ...(layer === undefined ? [] : [{ word: "layer", sign: ":", value: layer } as const]),
  ];
  const of = facts.wishes[longOf(list)];
  of.value = { ...of.peek(), filter: [...earlier, ...filter].reduce(withTerm, NO_FILTER) };
  if (isLong(list)) of.value = { ...of.peek(), order: sort };
  else facts.thingOrder.value = sort;
}

/** The part of the link that opens the value view again. */
function valueLink(facts: Facts): Link {
  const ref = facts.value.value;
  if (ref === undefined) return {};
  return {
    value: ref,
    slicing: facts.slicing.value,
    swapped: facts.isSwapped.value ? true : undefined,
    tab: facts.valueTab.value === "picture" ? undefined : facts.valueTab.value,
    number: facts.curveNumber.value,
    part: facts.part.value === "abs" ? undefined : facts.part.value,
  };
}

/** Whether a link leads to more than runs and panels. */
export function hasFocus({
  run: _,
  other: __,
  panel: ___,
  axis: ____,
  window: _____,
  ...rest
}: Link): boolean {
  return Object.values(rest).some((part) => part !== undefined);
}

/** Takes the run of the link when there is one of that name, else the one to open without a link. */
export function chooseRun(facts: Facts, verbs: RunVerbs, runs: Runs, link: Link, now: number): void {
  if (facts.run.peek() !== undefined) return;
  const isNamed = link.run !== undefined && runs.has(link.run);
  const run = isNamed ? link.run : runToOpen(runs, now);
  if (run === undefined) return;
  verbs.selectRun(run);
  if (isNamed || link.run === undefined) void verbs.open(link);
}

interface Restoring extends Pick<ValueVerbs, "openValue"> {
  restoreAlert(index: AlertIndex): Promise<void>;
}

export type RunVerbs = ReturnType<typeof createRunVerbs>;

export function createRunVerbs(
  facts: Facts,
  panels: Panels,
  choice: Choice,
  { focusGraphExecution, focusExecution, focusOp, focusLine }: FocusVerbs & SourceVerbs,
  { setOnlyBad, forgetWishes }: FilterVerbs,
  { restoreAlert, openValue }: Restoring,
) {
  return {
    selectRun(run: RunName): void {
      choice.make();
      batch(() => {
        // No run is compared with itself: the two change places.
        if (facts.other.peek() === run) facts.other.value = facts.run.peek();
        facts.run.value = run;
        clearRun(facts);
        forgetWishes();
      });
    },
    /** Goes where a link leads, within the run. */
    async open(link: Link): Promise<void> {
      facts.other.value = link.other === facts.run.peek() ? undefined : link.other;
      openList(facts, link);
      openPanel(facts, panels, link);
      setOnlyBad(link.onlyBad === true);
      facts.alertType.value = link.alertType;
      if (link.trace !== undefined && link.subject !== "execution") await focusGraphExecution(link.trace);
      else if (link.execution !== undefined) focusExecution(link.execution);
      if (link.graph !== undefined && link.op !== undefined && link.trace === undefined)
        focusOp({ graph: link.graph, opName: link.op, graphExecution: undefined, owner: undefined });
      if (link.frame !== undefined) facts.frame.value = link.frame;
      if (link.file !== undefined) focusLine({ file: link.file, line: link.line ?? 1 });
      openValue(link);
      facts.curveNumber.value = link.number;
      if (link.alert !== undefined) await restoreAlert(link.alert);
    },
  };
}

/** Drops what belongs to a run: another run has nothing of it. */
function clearRun(facts: Facts): void {
  facts.status.value = undefined;
  facts.problem.value = undefined;
  facts.touched.value = false;
  facts.execution.value = undefined;
  facts.graphExecution.value = undefined;
  facts.alert.value = undefined;
  facts.origin.value = undefined;
  facts.alertType.value = undefined;
  facts.history.value = NO_HISTORY;
  facts.frame.value = undefined;
  facts.line.value = undefined;
  facts.value.value = undefined;
  facts.besideCurves.value = [];
  facts.curveSpan.value = undefined;
}
