/** The facts of the store: everything on the page is derived from them, and only verbs change them. */
import { signal } from "@preact/signals";
import type { Logdir, OpInfo, Runs, Status } from "../api/answers";
import type { GraphExecutionFilter } from "../api/routes";
import type { Part, ValueInfo, ValueRef } from "../api/values";
import type {
  AlertIndex,
  ExecutionIndex,
  FileIndex,
  FrameId,
  GraphExecutionIndex,
  GraphId,
  RunName,
} from "../base/ids";
import type { Loaded } from "../base/loaded";
import { type History, NO_HISTORY } from "../model/history";
import type { Cell, Tab } from "../model/values/view";

/** An op of a graph in focus, at one of its graph executions if it has any. */
export interface OpFocus {
  readonly graph: GraphId;
  readonly opName: string;
  readonly graphExecution: GraphExecutionIndex | undefined;
  /** The owner of the graph execution, when it is known. */
  readonly owner: ExecutionIndex | undefined;
}

/** An op at one of its graph executions, whose description came with a pause. */
export interface KnownOp {
  readonly run: RunName;
  readonly op: OpFocus;
  readonly info: OpInfo;
}

/** A line of a recorded source file. */
export interface LineFocus {
  readonly file: FileIndex;
  /** From 1. */
  readonly line: number;
}

/** The thing whose stack, source and neighbours are shown. */
export type Subject = "execution" | "op";

export type Facts = ReturnType<typeof createFacts>;

export function createFacts() {
  return { ...createServerFacts(), ...createFocusFacts(), ...createViewFacts(), ...createValueFacts() };
}

/** What the server answered, and whether it does. */
function createServerFacts() {
  return {
    /** The runs below the logdir. */
    runs: signal<Loaded<Runs>>({ kind: "loading", stale: undefined }),
    /** The folder that the server searches for runs; undefined until it answers. */
    logdir: signal<Logdir | undefined>(undefined),
    /** The newest status of the run in focus. */
    status: signal<Status | undefined>(undefined),
    /** Why the last request for changes failed; undefined when it succeeded. */
    connection: signal<string | undefined>(undefined),
    /** Rises when the reader calls an alert meant. */
    meant: signal(0),
    /** Whether nothing was recorded for a while. */
    silent: signal(false),
    /** The op of the last pause, which needs no other request. */
    known: signal<KnownOp | undefined>(undefined),
    /** Rises when the server answers again after a failure. */
    reconnects: signal(0),
  };
}

/** What is in focus. */
function createFocusFacts() {
  return {
    /** The run in focus. */
    run: signal<RunName | undefined>(undefined),
    /** The run that it is compared with. */
    other: signal<RunName | undefined>(undefined),
    /** The execution in focus. */
    execution: signal<ExecutionIndex | undefined>(undefined),
    /** The graph execution in focus. */
    graphExecution: signal<GraphExecutionIndex | undefined>(undefined),
    /** The alert in focus, as a position in the list that is shown. */
    alert: signal<AlertIndex | undefined>(undefined),
    /** The key of the origin that the reader chose; undefined for the most important one. */
    origin: signal<string | undefined>(undefined),
    /** The ops that were in focus, with the current one. */
    history: signal<History<OpFocus>>(NO_HISTORY),
    subject: signal<Subject>("execution"),
    /** The stack frame that the reader chose; undefined for the user's innermost one. */
    frame: signal<FrameId | undefined>(undefined),
    /** The line that the reader chose without a frame. */
    line: signal<LineFocus | undefined>(undefined),
    /** Whether the reader, or a link, chose a focus; then the page does not move by itself. */
    touched: signal(false),
    /** Why the last choice of the reader failed. */
    problem: signal<string | undefined>(undefined),
  };
}

/** Which rows the lists have, and how the page is seen. */
function createViewFacts() {
  return {
    /** The id of the rule whose alerts are shown; undefined shows all alerts. */
    alertType: signal<string | undefined>(undefined),
    /** Whether graph executions without a bad value are left out. */
    onlyBad: signal(false),
    /** The filter for graph executions. */
    filter: signal<GraphExecutionFilter>({}),
    /** Rises when the reader comes back to the page, or presses the host's reload button. */
    looks: signal(0),
    /** Whether the tab is visible. */
    seen: signal(true),
    /** The numbers of buckets of the two overviews: the lengths of their minimaps in pixels. */
    timelineBuckets: signal(0),
    graphExecutionBuckets: signal(0),
  };
}

/** Which value is shown, and how. */
function createValueFacts() {
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
