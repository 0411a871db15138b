/** The facts about programs that run and about their panels. Only this folder changes them. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Evaluation, LiveProgram, LivePrograms, ProgramState } from "../../api/live";
import type { ProgramId, RunName } from "../../base/ids";
import type { Loaded } from "../../base/loaded";
import type { CurveNumber } from "../../model/live/curves";
import type { ListedOp } from "../../model/live/op_list";
import type { Grouping } from "../../model/live/op_tree";
import { firstProgram } from "../../model/live/program";
import { NOTHING_SEEN, type SeenTensors } from "../../model/live/seen_tensors";
import { type NameFilter, NO_FILTER, NO_ROWS, type TensorRows } from "../../model/live/tensor_rows";

/** A sentence that is shown for a while. */
export interface Toast {
  readonly number: number;
  readonly sentence: string;
  readonly kind: "hit" | "notice" | "failure";
}

export type LiveFacts = ReturnType<typeof createLiveFacts>;

export function createLiveFacts() {
  return {
    /** The last answer about programs; undefined until there is one. */
    answer: signal<LivePrograms | undefined>(undefined),
    /** Why the last request for programs failed; undefined when it succeeded. */
    connection: signal<string | undefined>(undefined),
    /** The program that the reader chose. */
    chosen: signal<ProgramId | undefined>(undefined),
    /** The program in focus when it left the list: it has ended. The reader closes it. */
    gone: signal<LiveProgram | undefined>(undefined),
    /** The programs whose end the reader has closed; the server lists them for a while. */
    closed: signal<ReadonlySet<ProgramId>>(new Set()),
    /** Why the last command was not done. */
    refusal: signal<string | undefined>(undefined),
    toasts: signal<readonly Toast[]>([]),
    /** Whether the card that says how a program is joined is open. */
    isCardOpen: signal(false),
  };
}

export function createLiveDerived(facts: LiveFacts, run: ReadonlySignal<RunName | undefined>) {
  const programs = computed(() => {
    const all = facts.answer.value?.programs ?? [];
    return all.filter(({ id }) => !facts.closed.value.has(id));
  });
  const program = computed((): LiveProgram | undefined => {
    const chosen = programs.value.find(({ id }) => id === facts.chosen.value);
    return chosen ?? facts.gone.value ?? firstProgram(programs.value, run.value);
  });
  const state: ReadonlySignal<ProgramState | undefined> = computed(() => program.value?.state);
  return {
    /** All programs that run. */
    programs,
    /** The program in focus: it runs, or it has just ended. */
    program,
    state,
    /** Why this TensorBoard takes no commands; undefined when it does. */
    readOnly: computed(() => {
      const answer = facts.answer.value;
      return answer?.read_only === true ? answer.why_read_only : undefined;
    }),
  };
}

export type LiveDerived = ReturnType<typeof createLiveDerived>;

/** An expression, and its result when it has arrived. */
export interface Evaluated {
  readonly number: number;
  readonly program: ProgramId;
  readonly expression: string;
  readonly result: Loaded<Evaluation>;
}

/** Results of expressions at one pause, by expression; one that is missing is not evaluated yet. */
export interface WatchResults {
  readonly key: string;
  readonly of: ReadonlyMap<string, Loaded<Evaluation>>;
}

export const NO_RESULTS: WatchResults = { key: "", of: new Map() };

export type PanelFacts = ReturnType<typeof createPanelFacts>;

export function createPanelFacts() {
  return {
    /** The program that the rows and what was seen are of. */
    rowsOf: signal<ProgramId | undefined>(undefined),
    /** The tensors of the current call. */
    rows: signal<TensorRows>(NO_ROWS),
    /** Why the tensors could not be fetched. */
    rowsFailure: signal<string | undefined>(undefined),
    /** The numbers of tensors in this call and in earlier ones. */
    seen: signal<SeenTensors>(NOTHING_SEEN),
    tensorFilter: signal<NameFilter>(NO_FILTER),
    /** The number of the tensor that the reader chose in the list. */
    chosenTensor: signal<number | undefined>(undefined),
    /** Whether an open value changes to that of the next time its tensor is computed. */
    isFollowing: signal(true),
    /** All ops of the recording; undefined until the tree is opened. */
    ops: signal<Loaded<readonly ListedOp[]> | undefined>(undefined),
    grouping: signal<Grouping>("scope"),
    opFilter: signal<NameFilter>(NO_FILTER),
    /** The keys of the open groups of the tree; undefined until the reader opens or closes one. */
    openGroups: signal<ReadonlySet<string> | undefined>(undefined),
    /** Why the last click on a box did nothing. */
    boxRefusal: signal<string | undefined>(undefined),
    curveNumber: signal<CurveNumber>("mean"),
    /** Expressions, newest first. */
    evaluated: signal<readonly Evaluated[]>([]),
    /** The expressions that are evaluated anew at each pause, in the order in which they were added. */
    watches: signal<readonly string[]>([]),
    /** Their results at the pause of which the key is given. */
    watchResults: signal<WatchResults>(NO_RESULTS),
    /** What came of the last change of a value: done, or why not. */
    changed: signal<
      { readonly pause: number; readonly sentence: string; readonly done: boolean } | undefined
    >(undefined),
  };
}
