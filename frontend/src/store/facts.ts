/** The few facts that everything on the page follows from. Only the verbs change them. */
import { signal } from "@preact/signals";
import type { Logdir, Runs, Status } from "../api/answers";
import type { GraphExecutionFilter } from "../api/routes";
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

/** An op of a graph as looked at from one of its traces, when it has any. */
export interface OpFocus {
  readonly graph: GraphId;
  readonly opName: string;
  readonly trace: GraphExecutionIndex | undefined;
  /** The call that the trace belongs to, where it is known. */
  readonly owner: ExecutionIndex | undefined;
}

/** A line of a recorded source file. */
export interface LineFocus {
  readonly file: FileIndex;
  /** From 1. */
  readonly line: number;
}

/** Whose stack, source and neighbours are shown. */
export type Subject = "execution" | "op";

export type Facts = ReturnType<typeof createFacts>;

export function createFacts() {
  return {
    /** The runs below the logdir. */
    runs: signal<Loaded<Runs>>({ kind: "loading", stale: undefined }),
    /** What the server says of the folder that it looks for runs in; undefined until it does. */
    logdir: signal<Logdir | undefined>(undefined),
    /** The run that is looked at. */
    run: signal<RunName | undefined>(undefined),
    /** What the server last said of that run. */
    status: signal<Status | undefined>(undefined),
    /** Why the server's last answer about it did not come; undefined when it came. */
    connection: signal<string | undefined>(undefined),
    /** Nothing new has come for a while. */
    silent: signal(false),
    /** Rises when the server answers again after it did not. */
    reconnects: signal(0),
    /** Why the last click led nowhere. */
    problem: signal<string | undefined>(undefined),
    /** The box in focus in the timeline. */
    execution: signal<ExecutionIndex | undefined>(undefined),
    /** The row in focus in the list of graph executions. */
    graphExecution: signal<GraphExecutionIndex | undefined>(undefined),
    /** The alert in focus, as a position in the list that is shown. */
    alert: signal<AlertIndex | undefined>(undefined),
    /** The id of the rule whose alerts are shown; undefined shows all alerts. */
    alertType: signal<string | undefined>(undefined),
    /** The ops looked at, and at which of them we are. */
    history: signal<History<OpFocus>>(NO_HISTORY),
    subject: signal<Subject>("execution"),
    /** The stack frame that the reader chose; undefined = the user's innermost one. */
    frame: signal<FrameId | undefined>(undefined),
    /** The line that is shown instead of that of a frame. */
    line: signal<LineFocus | undefined>(undefined),
    /** Graph executions without a bad value are left out. */
    onlyBad: signal(false),
    /** Which others are left out. */
    filter: signal<GraphExecutionFilter>({}),
    /** The reader chose something, or a link did: nothing moves by itself any more. */
    touched: signal(false),
    /** Rises when the reader comes back to the page, or has the host reload its data. */
    looks: signal(0),
    /** The tab is seen. */
    seen: signal(true),
    /** Buckets of the two overviews: pixels of their strips. */
    timelineBuckets: signal(0),
    graphExecutionBuckets: signal(0),
  };
}
