/** Verbs that move the focus: to an execution, a graph execution or an op. */
import { batch } from "@preact/signals";
import type { ExecutionIndex, GraphExecutionIndex } from "../../base/ids";
import { canMove, current, move, stepTo } from "../../model/history";
import type { Target } from "../../model/neighbourhood";
import { type GraphExecutionRow, graphExecutionRow } from "../../model/rows";
import type { Lists } from "../lists/lists";
import type { Choice, FocusedFacts, OpFocus, VerbDeps } from "./facts";

/** Where a row may be. */
type RowDeps = Pick<VerbDeps, "facts" | "lists">;

export type FocusVerbs = ReturnType<typeof createFocusVerbs>;

export function createFocusVerbs(deps: VerbDeps, choice: Choice) {
  const { facts } = deps;
  const focusGraphExecution = (index: GraphExecutionIndex) => focusTrace(deps, choice, index);

  function focusExecution(index: ExecutionIndex): void {
    choice.make();
    batch(() => showExecution(facts, index));
  }

  function focusOp(op: OpFocus): void {
    if (op.graphExecution !== undefined) void focusGraphExecution(op.graphExecution);
    else {
      choice.make();
      batch(() => showUnrecordedOp(facts, op));
    }
  }

  return {
    focusGraphExecution,
    /** Focuses a graph execution whose row is there. */
    focusRow(row: GraphExecutionRow): void {
      facts.chosen.value = facts.run.value && { run: facts.run.value, row };
      void focusGraphExecution(row.index);
    },
    /** Focuses a graph execution whose op and owner are known. */
    focusKnown(op: OpFocus, index: GraphExecutionIndex): void {
      choice.make();
      batch(() => showKnown(facts, op, index));
    },
    focusExecution,
    focusOp,
    follow(target: Target): void {
      if (target.kind === "op") focusOp({ ...target, owner: undefined });
      else if (target.kind === "execution") focusExecution(target.index);
    },
  };
}

/** All sections move at once if the row is there. */
function focusTrace(deps: VerbDeps, choice: Choice, index: GraphExecutionIndex): Promise<void> {
  const { facts } = deps;
  return batch(() => {
    facts.touched.value = true;
    facts.graphExecution.value = index;
    facts.alert.value = undefined;
    return choice.wait(rowAt(deps, index), (row) => showGraphExecution(facts, row));
  });
}

/** The row of a graph execution, at once if it is there; it fails when there is no such row. */
export function rowAt(
  { facts, lists }: RowDeps,
  index: GraphExecutionIndex,
): Promise<GraphExecutionRow> | GraphExecutionRow {
  const page = lists.peek()?.graphExecutions.at(index);
  if (page !== undefined) return graphExecutionRow(page, index - page.begin);
  const { run, row } = facts.chosen.peek() ?? {};
  return row?.index === index && run === facts.run.peek() ? row : fetchRow(lists.peek(), index);
}

async function fetchRow(lists: Lists | undefined, index: GraphExecutionIndex): Promise<GraphExecutionRow> {
  if (lists === undefined) throw new Error("The run is not there any more.");
  const page = await lists.graphExecutions.fetchAt(index);
  if (index < page.begin || index >= page.end) throw new Error(`There is no graph execution ${index}.`);
  return graphExecutionRow(page, index - page.begin);
}

/** The subject's own stack frame and line are shown, not those that were chosen before. */
export function showSubject(facts: FocusedFacts, subject: "execution" | "op"): void {
  facts.subject.value = subject;
  facts.frame.value = undefined;
  facts.line.value = undefined;
}

function showOp(facts: FocusedFacts, op: OpFocus): void {
  facts.history.value = stepTo(facts.history.peek(), op, isSameOp);
  showSubject(facts, "op");
}

/** Shows a graph execution whose row is there. */
export function showRow(facts: FocusedFacts, row: GraphExecutionRow): void {
  facts.graphExecution.value = row.index;
  facts.alert.value = undefined;
  showGraphExecution(facts, row);
}

function showGraphExecution(facts: FocusedFacts, { graph, opName, index, owner }: GraphExecutionRow): void {
  if (graph !== undefined) showOp(facts, { graph, opName, graphExecution: index, owner });
  if (owner !== undefined) facts.execution.value = owner;
}

function showKnown(facts: FocusedFacts, op: OpFocus, index: GraphExecutionIndex): void {
  facts.touched.value = true;
  facts.problem.value = undefined;
  facts.graphExecution.value = index;
  facts.alert.value = undefined;
  showOp(facts, { ...op, graphExecution: index });
  if (op.owner !== undefined) facts.execution.value = op.owner;
}

export function showExecution(facts: FocusedFacts, index: ExecutionIndex): void {
  facts.touched.value = true;
  facts.problem.value = undefined;
  facts.execution.value = index;
  facts.graphExecution.value = undefined;
  facts.alert.value = undefined;
  showSubject(facts, "execution");
}

/** An op without a graph execution. */
function showUnrecordedOp(facts: FocusedFacts, op: OpFocus): void {
  facts.touched.value = true;
  facts.alert.value = undefined;
  facts.graphExecution.value = undefined;
  showOp(facts, op);
}

function isSameOp(a: OpFocus, b: OpFocus): boolean {
  return a.graph === b.graph && a.opName === b.opName && a.graphExecution === b.graphExecution;
}

export function createHistoryVerbs(deps: VerbDeps, choice: Choice) {
  const { facts } = deps;

  function moveBy(by: 1 | -1): void {
    const history = facts.history.peek();
    if (!canMove(history, by)) return;
    const op = current(move(history, by));
    batch(() => {
      facts.history.value = move(history, by);
      facts.alert.value = undefined;
      if (op?.graphExecution !== undefined) facts.graphExecution.value = op.graphExecution;
      showSubject(facts, "op");
    });
    if (op?.graphExecution === undefined) return;
    void choice.wait(rowAt(deps, op.graphExecution), ({ owner }) => {
      if (owner !== undefined) facts.execution.value = owner;
    });
  }

  return { back: () => moveBy(-1), forward: () => moveBy(1) };
}
