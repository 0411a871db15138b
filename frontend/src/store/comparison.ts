/**
 * The comparison of the run in focus with another one: asked for once both are read, and again when the reader
 * wants it. The first difference comes into focus when the reader chose the other run on the page.
 */
import {
  batch,
  computed,
  effect,
  type ReadonlySignal,
  type Signal,
  signal,
  untracked,
} from "@preact/signals";
import type { Comparison, Histories, Side } from "../api/comparison";
import { RouteError } from "../api/fetch";
import type { ValueRef } from "../api/values";
import type { ExecutionIndex, RunName } from "../base/ids";
import { shown } from "../base/loaded";
import { differenceInFocus, sideTarget } from "../model/comparison";
import type { Target } from "../model/neighbourhood";
import { type HistoryNumber, rowTarget } from "../model/two_histories";
import type { Deps } from "./deps";
import { createByKey, ready } from "./derived/keyed";
import type { LiveFacts } from "./live/facts";
import type { Timer } from "./timer";
import type { Choice } from "./verbs/choice";

/** Seconds between two looks at a run that is being read. */
const LOOK_EVERY = 1;
const NOT_READY = 503;
/** Comparisons that are kept. */
const KEPT = 4;

export interface ComparisonDeps extends Deps {
  readonly timer: Timer;
  readonly choice: Choice;
  readonly follow: (target: Target) => void;
  readonly focusPath: (path: string, line: number) => void;
  readonly dock: LiveFacts["dock"];
  /** What is in focus. */
  readonly focusTarget: ReadonlySignal<Target>;
}

/** An answer, and whether the runs can still grow. */
export interface Compared {
  readonly answer: Comparison;
  readonly isFinal: boolean;
}

export type Compare = ReturnType<typeof createComparison>;

export function createComparison(deps: ComparisonDeps) {
  const own = {
    /** Rises when the reader wants a new answer. */
    edition: signal(0),
    /** The run that is being read, and how much of it is; undefined while none is. */
    reading: signal<Reading | undefined>(undefined),
    /** The number of the choice with which the reader began; undefined when the first difference was shown. */
    awaited: signal<number | undefined>(undefined),
    /** The number whose history is drawn, if the tensor has it. */
    number: signal<HistoryNumber>("mean"),
    /** The output that the reader chose of an execution. */
    output: signal<{ readonly index: ExecutionIndex; readonly slot: number } | undefined>(undefined),
  };
  const compared = createCompared(deps, own);
  return {
    other: deps.facts.other,
    reading: own.reading,
    number: own.number,
    compared,
    histories: createHistories(deps, own, compared),
    /** The listed difference that is about what is in focus. */
    inFocus: computed(() =>
      differenceInFocus(shown(compared.value)?.answer.tensors ?? [], deps.focusTarget.value),
    ),
    ...createComparisonVerbs(deps, own),
    /** Begins to follow the choice of a run and its answer; returns a function that ends it. */
    start(): () => void {
      const stops = [effect(() => openDock(deps)), effect(() => showFirst(deps, own, ready(compared.value)))];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** The panel is open when there is a comparison. */
function openDock({ facts, dock }: ComparisonDeps): void {
  const isThere = facts.other.value !== undefined;
  if (isThere) dock.value = "comparison";
  else if (dock.peek() === "comparison") dock.value = undefined;
}

/** Brings the first difference of a new answer into focus, unless the reader chose something meanwhile. */
function showFirst(
  { facts, choice, follow }: ComparisonDeps,
  own: Own,
  compared: Compared | undefined,
): void {
  if (compared === undefined) return;
  const isWanted = untracked(() => own.awaited.value === choice.latest() || !facts.touched.value);
  own.awaited.value = undefined;
  const first = compared.answer.first_difference?.first;
  if (first !== undefined && isWanted) untracked(() => follow(sideTarget(first)));
}

interface Reading {
  readonly run: RunName;
  /** From 0 to 1; undefined until it is known. */
  readonly share: number | undefined;
}

interface Own {
  readonly edition: Signal<number>;
  readonly reading: Signal<Reading | undefined>;
  readonly awaited: Signal<number | undefined>;
  readonly number: Signal<HistoryNumber>;
  readonly output: Signal<{ readonly index: ExecutionIndex; readonly slot: number } | undefined>;
}

function createCompared(deps: ComparisonDeps, { edition, reading }: Own) {
  const { api, facts } = deps;
  return createByKey(deps)(
    () => {
      const [run, other] = [facts.run.value, facts.other.value];
      return run === undefined || other === undefined ? undefined : { run, other, edition: edition.value };
    },
    async ({ run, other }, abort): Promise<Compared> => {
      reading.value = undefined;
      const isFinal = [
        await whenRead(deps, reading, run, abort),
        await whenRead(deps, reading, other, abort),
      ];
      reading.value = undefined;
      return { answer: await api.compare(run, other, undefined, abort), isFinal: isFinal.every(Boolean) };
    },
    KEPT,
  );
}

/** Waits until the files of a run are read, as far as there are any; returns whether it has finished. */
async function whenRead(
  { api, timer }: ComparisonDeps,
  reading: Own["reading"],
  run: RunName,
  abort: AbortSignal,
): Promise<boolean> {
  for (;;) {
    try {
      const { loading, finished } = await api.status(run);
      if (loading === undefined) return finished === true;
      reading.value = { run, share: loading.bytes_done / Math.max(1, loading.bytes_total) };
    } catch (error) {
      if (!(error instanceof RouteError) || error.status !== NOT_READY) throw error;
      reading.value = { run, share: undefined };
    }
    await new Promise<void>((resolve) => timer.after(LOOK_EVERY, resolve));
    if (abort.aborted) throw new Error("Another comparison was chosen.");
  }
}

type ComparedSignal = ReturnType<typeof createCompared>;

/** The histories of what is in focus. They are asked for after the comparison, which finds what belongs together. */
function createHistories(deps: ComparisonDeps, { edition, output }: Own, compared: ComparedSignal) {
  const { api, facts, focusTarget, dock } = deps;
  return createByKey(deps)(
    () => {
      const [run, other] = [facts.run.value, facts.other.value];
      const ref = refOfTarget(focusTarget.value, output.value);
      const isSeen = ready(compared.value) !== undefined && dock.value === "comparison";
      if (run === undefined || other === undefined || ref === undefined || !isSeen) return undefined;
      return { run, other, ref, edition: edition.value };
    },
    ({ run, other, ref }, abort) => api.histories(run, other, ref, abort),
  );
}

/** The value that is in focus; undefined for an op without one. */
function refOfTarget(target: Target, output: Own["output"]["value"]): ValueRef | undefined {
  if (target.kind === "op")
    return target.trace === undefined ? undefined : { kind: "graph_execution", index: target.trace };
  if (target.kind === "nowhere") return undefined;
  const slot = output?.index === target.index ? output.slot : 0;
  return { kind: "execution", index: target.index, slot };
}

function createComparisonVerbs({ facts, choice, follow, focusPath }: ComparisonDeps, own: Own) {
  return {
    /** Compares the run in focus with another one; without one, the comparison is closed. */
    compareWith(run: RunName | undefined): void {
      choice.make();
      batch(() => {
        facts.other.value = run;
        own.awaited.value = run === undefined ? undefined : choice.latest();
      });
    },
    /** Asks anew, since a run has grown. */
    compareAgain(): void {
      own.edition.value++;
    },
    /** Goes to a tensor of the run in focus. */
    goTo(side: Side): void {
      const { op_name, execution_index: index, output_slot: slot } = side;
      batch(() => {
        own.output.value = op_name === undefined && index !== undefined ? { index, slot } : undefined;
        follow(sideTarget(side));
      });
    },
    /** Goes to an occurrence of the tensor whose histories are shown. */
    goToRow(histories: Histories, row: number): void {
      const target = rowTarget(histories, row);
      if (target.kind === "execution")
        own.output.value = { index: target.index, slot: histories.first.output_slot };
      follow(target);
    },
    /** Chooses the number whose history is drawn. */
    draw(name: HistoryNumber): void {
      own.number.value = name;
    },
    /** Shows a line of the user's own code. */
    showLine({ source }: Side): void {
      if (source !== undefined) focusPath(source.path, source.line);
    },
  };
}
