/** The facts about programs that run. Only the requests and the verbs of this folder change them. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { LiveProgram, LivePrograms, ProgramState } from "../../api/live";
import type { ProgramId, RunName } from "../../base/ids";
import { firstProgram } from "../../model/live/program";

/** A sentence that is shown for a while. */
export interface Toast {
  readonly number: number;
  readonly sentence: string;
  readonly kind: "hit" | "notice" | "failure";
}

/**
 * The panels that can be opened over the timeline and the list of graph executions: those of a program, and the
 * comparison of two runs.
 */
export type DockName = "comparison" | "breakpoints" | "tensors" | "ops" | "calls" | "curves" | "evaluate";

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
    /** The panel that is open; undefined shows the recording alone. */
    dock: signal<DockName | undefined>(undefined),
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
