/** Verbs that move the focus: to an execution, a graph execution, an op, a stack frame or a source line. */
import { batch } from "@preact/signals";
import type { ExecutionIndex, FrameId, GraphExecutionIndex } from "../../base/ids";
import { stepTo } from "../../model/history";
import type { Target } from "../../model/neighbourhood";
import { type GraphExecutionRow, graphExecutionRow } from "../../model/rows";
import type { VerbDeps } from "../deps";
import type { Facts, LineFocus, OpFocus } from "../facts";
import type { Lists } from "../lists";
import type { Choice } from "./choice";

export type FocusVerbs = ReturnType<typeof createFocusVerbs>;

export function createFocusVerbs({ facts, lists }: VerbDeps, choice: Choice) {
  function focusGraphExecution(index: GraphExecutionIndex): Promise<void> {
    batch(() => {
      facts.touched.value = true;
      facts.graphExecution.value = index;
      facts.alert.value = undefined;
    });
    return choice.wait(rowAt(lists.peek(), index), (row) => showGraphExecution(facts, row));
  }

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
    ...createSourceVerbs(facts, choice),
  };
}

function createSourceVerbs(facts: Facts, choice: Choice) {
  return {
    focusFrame(frame: FrameId): void {
      facts.frame.value = frame;
      facts.line.value = undefined;
    },
    focusLine(line: LineFocus): void {
      choice.make();
      batch(() => {
        facts.touched.value = true;
        facts.line.value = line;
      });
    },
    /** Focuses a line that nothing on record belongs to, such as that of a call that is about to begin. */
    focusOnlyLine(line: LineFocus): void {
      choice.make();
      batch(() => {
        facts.touched.value = true;
        facts.execution.value = undefined;
        facts.graphExecution.value = undefined;
        facts.alert.value = undefined;
        showSubject(facts, "execution");
        facts.line.value = line;
      });
    },
  };
}

/** The row of a graph execution; it fails when there is no such row. */
export async function rowAt(
  lists: Lists | undefined,
  index: GraphExecutionIndex,
): Promise<GraphExecutionRow> {
  if (lists === undefined) throw new Error("The run is not there any more.");
  const page = await lists.graphExecutions.fetchAt(index);
  if (index < page.begin || index >= page.end) throw new Error(`There is no graph execution ${index}.`);
  return graphExecutionRow(page, index - page.begin);
}

/** The subject's own stack frame and line are shown, not those that were chosen before. */
export function showSubject(facts: Facts, subject: "execution" | "op"): void {
  facts.subject.value = subject;
  facts.frame.value = undefined;
  facts.line.value = undefined;
}

function showOp(facts: Facts, op: OpFocus): void {
  facts.history.value = stepTo(facts.history.peek(), op, isSameOp);
  showSubject(facts, "op");
}

function showGraphExecution(facts: Facts, { graph, opName, index, owner }: GraphExecutionRow): void {
  if (graph !== undefined) showOp(facts, { graph, opName, graphExecution: index, owner });
  if (owner !== undefined) facts.execution.value = owner;
}

function showKnown(facts: Facts, op: OpFocus, index: GraphExecutionIndex): void {
  facts.touched.value = true;
  facts.problem.value = undefined;
  facts.graphExecution.value = index;
  facts.alert.value = undefined;
  showOp(facts, { ...op, graphExecution: index });
  if (op.owner !== undefined) facts.execution.value = op.owner;
}

function showExecution(facts: Facts, index: ExecutionIndex): void {
  facts.touched.value = true;
  facts.problem.value = undefined;
  facts.execution.value = index;
  facts.graphExecution.value = undefined;
  facts.alert.value = undefined;
  showSubject(facts, "execution");
}

/** An op without a graph execution. */
function showUnrecordedOp(facts: Facts, op: OpFocus): void {
  facts.touched.value = true;
  facts.alert.value = undefined;
  facts.graphExecution.value = undefined;
  showOp(facts, op);
}

function isSameOp(a: OpFocus, b: OpFocus): boolean {
  return a.graph === b.graph && a.opName === b.opName && a.graphExecution === b.graphExecution;
}
