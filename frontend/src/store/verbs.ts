/** All that a click, a key or a link can do. A later one overtakes an earlier one that still waits for the server. */
import { batch, type ReadonlySignal } from "@preact/signals";
import type { Alert } from "../api/answers";
import type { Api, GraphExecutionFilter } from "../api/routes";
import * as ids from "../base/ids";
import { never, sentence } from "../base/loaded";
import { escaped } from "../base/text";
import type { Jump } from "../model/find";
import { canMove, current, move, NO_HISTORY, stepTo } from "../model/history";
import type { Link } from "../model/link";
import type { Target } from "../model/neighbourhood";
import { type GraphExecutionRow, graphExecutionRow } from "../model/rows";
import type { Activity } from "./activity";
import type { Facts, FilePlace, OpPlace } from "./facts";
import type { AlertList, AlertPage, Lists } from "./lists";
import { type CallPlace, callOf, graphExecutionOf, lastIn } from "./locate";

export type Verbs = ReturnType<typeof createVerbs>;

export function createVerbs(
  api: Api,
  facts: Facts,
  lists: ReadonlySignal<Lists | undefined>,
  /** The list of alerts that is shown. */
  alertList: ReadonlySignal<AlertList | undefined>,
  activity: Activity,
) {
  let ticket = 0;

  /** Does what `wait` answers, unless something else was chosen meanwhile. */
  async function then<T>(wait: Promise<T>, act: (value: T) => void): Promise<void> {
    const mine = ++ticket;
    facts.problem.value = undefined;
    try {
      const value = await activity.track(wait);
      if (mine === ticket) batch(() => act(value));
    } catch (error) {
      if (mine === ticket) facts.problem.value = sentence(error);
    }
  }

  function showOp(place: OpPlace): void {
    facts.history.value = stepTo(facts.history.peek(), place, samePlace);
    facts.subject.value = "op";
    facts.frame.value = undefined;
    facts.line.value = undefined;
  }

  function showGraphExecution(row: GraphExecutionRow): void {
    if (row.graph !== undefined)
      showOp({ graph: row.graph, opName: row.opName, trace: row.index, owner: row.owner });
    if (row.owner !== undefined) facts.execution.value = row.owner;
  }

  async function rowOf(index: ids.GraphExecutionIndex): Promise<GraphExecutionRow> {
    const pages = lists.peek()?.graphExecutions;
    if (pages === undefined) throw new Error("The run is not there any more.");
    const page = await pages.fetchAt(index);
    if (index < page.begin || index >= page.end) throw new Error(`There is no graph execution ${index}.`);
    return graphExecutionRow(page, index - page.begin);
  }

  function focusGraphExecution(index: ids.GraphExecutionIndex): Promise<void> {
    batch(() => {
      facts.touched.value = true;
      facts.graphExecution.value = index;
      facts.alert.value = undefined;
    });
    return then(rowOf(index), showGraphExecution);
  }

  function focusExecution(index: ids.ExecutionIndex): void {
    ticket++;
    batch(() => {
      facts.touched.value = true;
      facts.problem.value = undefined;
      facts.execution.value = index;
      facts.graphExecution.value = undefined;
      facts.subject.value = "execution";
      facts.frame.value = undefined;
      facts.line.value = undefined;
      facts.alert.value = undefined;
    });
  }

  function focusOp(place: OpPlace): void {
    if (place.trace !== undefined) void focusGraphExecution(place.trace);
    else {
      ticket++;
      batch(() => {
        facts.touched.value = true;
        facts.alert.value = undefined;
        facts.graphExecution.value = undefined;
        showOp(place);
      });
    }
  }

  function focusLine(place: FilePlace): void {
    ticket++;
    batch(() => {
      facts.touched.value = true;
      facts.line.value = place;
    });
  }

  /** Texts that are empty leave out the question. */
  function setFilter({ host = "", layer = "" }: GraphExecutionFilter): void {
    facts.filter.value = { host: host || undefined, layer: layer || undefined };
  }

  /** Goes to what was found by its name: of an op to its first bad value, else to its last. */
  async function jump(to: Jump): Promise<void> {
    const run = facts.run.peek();
    if (run === undefined) return;
    facts.touched.value = true;
    if (to.kind === "line") focusLine({ file: to.file, line: to.line });
    else if (to.kind === "layer") setFilter({ ...facts.filter.peek(), layer: `^${escaped(to.name)}(/|$)` });
    else if (to.kind === "op")
      await then(graphExecutionOf(api, run, to), (trace) =>
        focusOp({ graph: to.graph, opName: to.opName, trace, owner: undefined }),
      );
    else if (to.kind === "function") await then(callOf(api, run, to), goTo);
    else never(to);
  }

  /** Moves every section to the alert: the trace with the call it ran in, or the eager op. */
  async function focusAlert(index: ids.AlertIndex): Promise<void> {
    const pages = alertList.peek()?.pages;
    if (pages === undefined) return;
    batch(() => {
      facts.touched.value = true;
      facts.alert.value = index;
    });
    await then(pages.fetchAt(index), (page) => {
      const alert = page.alerts[index - page.begin];
      if (alert?.graph_execution_trace_index !== undefined)
        void focusGraphExecution(alert.graph_execution_trace_index);
      else if (alert?.execution_index !== undefined) focusExecution(alert.execution_index);
      facts.alert.value = index;
    });
  }

  /** Counts an alert as the one in focus if it is that of what is in focus: a run that was recorded anew has others. */
  async function restoreAlert(index: ids.AlertIndex): Promise<void> {
    const page = await alertPageAt(index);
    if (page !== undefined && isInFocus(page.alerts[index - page.begin])) facts.alert.value = index;
  }

  /** The page with an alert; undefined when it fails or when the reader chooses something before it arrives. */
  async function alertPageAt(index: ids.AlertIndex): Promise<AlertPage | undefined> {
    const list = alertList.peek();
    const mine = ticket;
    const page = list && (await activity.track(list.pages.fetchAt(index)).catch(() => undefined));
    return mine === ticket && list === alertList.peek() ? page : undefined;
  }

  function isInFocus(alert: Alert | undefined): boolean {
    if (alert === undefined) return false;
    const { graph_execution_trace_index: trace, execution_index: execution } = alert;
    return trace === undefined ? execution === facts.execution.peek() : trace === facts.graphExecution.peek();
  }

  /** Shows the alerts of one rule, or all. What is in focus stays; its position is looked up on the first page. */
  async function setAlertType(type: string | undefined): Promise<void> {
    const hadAlert = facts.alert.peek() !== undefined;
    batch(() => {
      facts.alertType.value = type;
      facts.alert.value = undefined;
    });
    const page = hadAlert ? await alertPageAt(ids.alertIndex(0)) : undefined;
    const row = page?.alerts.findIndex(isInFocus) ?? -1;
    if (row >= 0) facts.alert.value = ids.alertIndex(row);
  }

  function stepAlert(by: 1 | -1): void {
    const list = alertList.peek();
    const total = list?.pages.total.peek() ?? 0;
    const here = facts.alert.peek();
    const first = by === 1 ? (list?.overview.peek()?.start ?? 0) : total - 1;
    const next = here === undefined ? first : here + by;
    if (next >= 0 && next < total) void focusAlert(ids.alertIndex(next));
  }

  /** Goes to what a graph computed last before the tensor in focus, or to the first call of it. */
  async function focusGraph(graph: ids.GraphId): Promise<void> {
    const run = facts.run.peek();
    if (run === undefined) return;
    facts.touched.value = true;
    const at = facts.subject.peek() === "op" ? facts.graphExecution.peek() : undefined;
    const find = async () => {
      const { name } = await api.graph(run, graph);
      return lastIn(api, run, { kind: "function", graph, name: name ?? "" }, at);
    };
    await then(find(), goTo);
  }

  function goTo(found: CallPlace): void {
    if ("trace" in found) void focusGraphExecution(found.trace);
    else focusExecution(found.execution);
  }

  function moveInHistory(by: 1 | -1): void {
    const history = facts.history.peek();
    if (!canMove(history, by)) return;
    const place = current(move(history, by));
    batch(() => {
      facts.history.value = move(history, by);
      facts.subject.value = "op";
      facts.frame.value = undefined;
      facts.line.value = undefined;
      facts.alert.value = undefined;
      if (place?.trace !== undefined) facts.graphExecution.value = place.trace;
    });
    if (place?.trace === undefined) return;
    void then(rowOf(place.trace), ({ owner }) => {
      if (owner !== undefined) facts.execution.value = owner;
    });
  }

  return {
    focusGraphExecution,
    focusExecution,
    focusOp,
    focusAlert,
    nextAlert: () => stepAlert(1),
    previousAlert: () => stepAlert(-1),
    setAlertType,
    back: () => moveInHistory(-1),
    forward: () => moveInHistory(1),
    follow(target: Target): void {
      if (target.kind === "op")
        focusOp({ graph: target.graph, opName: target.opName, trace: target.trace, owner: undefined });
      else if (target.kind === "execution") focusExecution(target.index);
    },
    focusFrame(frame: ids.FrameId): void {
      facts.frame.value = frame;
      facts.line.value = undefined;
    },
    focusLine,
    focusGraph,
    jump,
    setOnlyBad(only: boolean): void {
      facts.onlyBad.value = only;
    },
    setFilter,
    dismissProblem(): void {
      facts.problem.value = undefined;
    },
    /** Forgets what was in focus: another run has nothing of it. */
    selectRun(run: ids.RunName): void {
      ticket++;
      batch(() => {
        facts.run.value = run;
        facts.status.value = undefined;
        facts.problem.value = undefined;
        facts.touched.value = false;
        clearFocus(facts);
      });
    },
    /** Goes where a link leads, within the run. */
    async open(link: Link): Promise<void> {
      setFilter(link);
      facts.onlyBad.value = link.onlyBad === true;
      facts.alertType.value = link.alertType;
      if (link.trace !== undefined && link.subject !== "execution") await focusGraphExecution(link.trace);
      else if (link.execution !== undefined) focusExecution(link.execution);
      if (link.graph !== undefined && link.op !== undefined && link.trace === undefined)
        focusOp({ graph: link.graph, opName: link.op, trace: undefined, owner: undefined });
      if (link.frame !== undefined) facts.frame.value = link.frame;
      if (link.file !== undefined) focusLine({ file: link.file, line: link.line ?? 1 });
      if (link.alert !== undefined) await restoreAlert(link.alert);
    },
  };
}

function clearFocus(facts: Facts): void {
  facts.execution.value = undefined;
  facts.graphExecution.value = undefined;
  facts.alert.value = undefined;
  facts.alertType.value = undefined;
  facts.history.value = NO_HISTORY;
  facts.frame.value = undefined;
  facts.line.value = undefined;
  facts.filter.value = {};
}

function samePlace(a: OpPlace, b: OpPlace): boolean {
  return a.graph === b.graph && a.opName === b.opName && a.trace === b.trace;
}
