/** What is in focus, and the choices of the reader: a later one overtakes an earlier one that still waits. */
import { batch, type ReadonlySignal, signal } from "@preact/signals";
import type { OpInfo } from "../../api/answers";
import type {
  AlertIndex,
  ExecutionIndex,
  FileIndex,
  FrameId,
  GraphExecutionIndex,
  GraphId,
  RunName,
} from "../../base/ids";
import { sentence } from "../../base/loaded";
import { type History, NO_HISTORY } from "../../model/history";
import type { GraphExecutionRow } from "../../model/rows";
import type { AlertList, Lists } from "../lists/lists";
import type { ListedFacts } from "../lists/run_lists";
import type { Deps } from "../run/run";

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

/** A row that was chosen in a list. */
export interface ChosenRow {
  readonly run: RunName;
  readonly row: GraphExecutionRow;
}

/** A line of a recorded source file. */
export interface LineFocus {
  readonly file: FileIndex;
  /** From 1. */
  readonly line: number;
}

/** The thing whose stack, source and neighbours are shown. */
export type Subject = "execution" | "op";

export type FocusFacts = ReturnType<typeof createFocusFacts>;

/** The facts of this slice and of those that it knows. */
export type FocusedFacts = ListedFacts & FocusFacts;

/** What is in focus. */
export function createFocusFacts() {
  return {
    /** The execution in focus. */
    execution: signal<ExecutionIndex | undefined>(undefined),
    /** The graph execution in focus. */
    graphExecution: signal<GraphExecutionIndex | undefined>(undefined),
    /** The alert in focus, as a position in the list that is shown. */
    alert: signal<AlertIndex | undefined>(undefined),
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
    /** The op of the last pause, which needs no other request. */
    known: signal<KnownOp | undefined>(undefined),
    /** The last row that was chosen in a list, which may be far from its neighbours in the run. */
    chosen: signal<ChosenRow | undefined>(undefined),
  };
}

export interface Choice {
  /** Makes a choice that waits for nothing. */
  make(): void;
  /** The number of the latest choice. */
  latest(): number;
  /**
   * Makes a choice that waits: `act` gets the value, unless a later choice was made; a failure becomes
   * `problem`. A value that is no promise is acted on at once.
   */
  wait<T>(value: Promise<T> | T, act: (value: T) => void): Promise<void>;
}

export function createChoice({ facts, activity }: Deps<FocusFacts>): Choice {
  let latest = 0;
  return {
    make() {
      latest++;
    },
    latest: () => latest,
    async wait(value, act) {
      const mine = ++latest;
      facts.problem.value = undefined;
      try {
        const there = value instanceof Promise ? await activity.track(value) : value;
        if (mine === latest) batch(() => act(there));
      } catch (error) {
        if (mine === latest) facts.problem.value = sentence(error);
      }
    },
  };
}

export interface VerbDeps extends Deps<FocusedFacts> {
  /** The lists of the run. */
  readonly lists: ReadonlySignal<Lists | undefined>;
  /** The list of alerts that is shown. */
  readonly alertList: ReadonlySignal<AlertList | undefined>;
}
