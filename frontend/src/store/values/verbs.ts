/** What of a value is shown, and its verbs: open it, choose its slice, go through its occurrences. */
import { batch, signal } from "@preact/signals";
import type { ValueInfo } from "../../api/answers";
import type { Part, ValueRef } from "../../api/values";
import type { Link } from "../../model/link";
import { sliceAt, writeSlicing } from "../../model/values/slicing";
import { isSameRef } from "../../model/values/value_ref";
import type { Cell, Tab } from "../../model/values/view";
import { setter } from "../common/activity";
import type { FocusFacts } from "../focus/facts";

export type ValueFacts = ReturnType<typeof createValueFacts>;

/** Which value is shown, and how. */
export function createValueFacts() {
  return {
    /** The value that is shown; undefined when the value view is closed. */
    value: signal<ValueRef | undefined>(undefined),
    /** The value whose tensor the history is of: the one that was opened. */
    historyOf: signal<ValueRef | undefined>(undefined),
    /** The occurrence around which the history is; undefined for the one that is shown. */
    historyAt: signal<number | undefined>(undefined),
    /** The slice in NumPy's notation; undefined for the whole of the last two dimensions. */
    slicing: signal<string | undefined>(undefined),
    /** Whether rows and columns are exchanged. */
    isSwapped: signal(false),
    valueTab: signal<Tab>("picture"),
    /** The real number that is shown of a complex one. */
    part: signal<Part>("abs"),
    /** The texts of the range that is highlighted. */
    range: signal({ low: "", high: "" }),
    /** Rises when a value of a program that runs was changed. */
    liveEdition: signal(0),
    /** What is known of a value that its program does not hold any more. */
    goneValue: signal<{ readonly ref: ValueRef; readonly info: ValueInfo } | undefined>(undefined),
    /** The element whose history is shown. */
    cell: signal<Cell | undefined>(undefined),
  };
}

export type ValueVerbs = ReturnType<typeof createValueVerbs>;

export function createValueVerbs(facts: FocusFacts & ValueFacts) {
  /** Shows a value, with the slice to begin with. */
  function showValue(ref: ValueRef): void {
    if (isSameRef(ref, facts.value.peek())) return;
    batch(() => {
      facts.touched.value = true;
      facts.value.value = ref;
      facts.historyOf.value = ref;
      facts.historyAt.value = undefined;
      facts.slicing.value = undefined;
      facts.isSwapped.value = false;
      facts.cell.value = undefined;
    });
  }
  /** Shows a value where it has an element, and goes to the element. */
  function showElement(ref: ValueRef, index: readonly number[]): void {
    const { axes, cell } = sliceAt(index);
    batch(() => {
      showValue(ref);
      facts.slicing.value = axes.some(({ kind }) => kind === "index") ? writeSlicing(axes) : undefined;
      facts.isSwapped.value = false;
      if (facts.valueTab.peek() === "curve") facts.valueTab.value = "picture";
      facts.cell.value = cell;
    });
  }
  return { showValue, showElement, ...createOpenVerbs(facts, showValue), ...createSliceVerbs(facts) };
}

function createOpenVerbs(facts: FocusFacts & ValueFacts, showValue: (ref: ValueRef) => void) {
  return {
    /** Shows the value of the graph execution or of the execution in focus. */
    showFocusValue(): void {
      const [graphExecution, execution] = [facts.graphExecution.peek(), facts.execution.peek()];
      if (facts.subject.peek() === "op") {
        if (graphExecution !== undefined) showValue({ kind: "graph_execution", index: graphExecution });
      } else if (execution !== undefined) showValue({ kind: "execution", index: execution, slot: 0 });
    },
    closeValue(): void {
      facts.value.value = undefined;
    },
    /** Shows the value of a link; without one, the value view is closed. */
    openValue(link: Link): void {
      batch(() => {
        if (link.value === undefined) facts.value.value = undefined;
        else showValue(link.value);
        facts.slicing.value = link.slicing;
        facts.isSwapped.value = link.swapped === true;
        facts.valueTab.value = link.tab ?? "picture";
        facts.part.value = link.part ?? "abs";
      });
    },
    /** Fetches the history around an occurrence. */
    seekHistory: setter(facts.historyAt),
    /** Shows another occurrence of the same tensor. */
    showOccurrence: setter(facts.value),
  };
}

function createSliceVerbs(facts: FocusFacts & ValueFacts) {
  return {
    setSlicing(text: string): void {
      facts.slicing.value = text.trim() === "" ? undefined : text;
    },
    /** Shows other dimensions. */
    showAxes(slicing: string, isSwapped: boolean): void {
      batch(() => {
        facts.slicing.value = slicing;
        facts.isSwapped.value = isSwapped;
        facts.cell.value = undefined;
      });
    },
    swapAxes(): void {
      const cell = facts.cell.peek();
      batch(() => {
        facts.isSwapped.value = !facts.isSwapped.peek();
        facts.cell.value = cell && { row: cell.column, column: cell.row };
      });
    },
    setValueTab: setter(facts.valueTab),
    setPart: setter(facts.part),
    setRange: setter(facts.range),
    /** Chooses the element whose history is shown. */
    setCell: setter(facts.cell),
  };
}
