/** What the reader can do with the program in focus. */
import { batch } from "@preact/signals";
import { RouteError } from "../../api/fetch";
import type {
  Breakpoint,
  Command,
  Continuation,
  Evaluation,
  NewBreakpoint,
  Outcome,
  Where,
} from "../../api/live";
import type { Api } from "../../api/routes";
import type { BreakpointNumber, LiveTensorNumber, ProgramId, RunName } from "../../base/ids";
import { sentence } from "../../base/loaded";
import { breakpointAt, changed, newBreakpoint } from "../../model/live/places";
import { situationOf, withState } from "../../model/live/program";
import type { Activity } from "../activity";
import type { DockName, LiveDerived, LiveFacts } from "./facts";
import type { Toasts } from "./toasts";

export interface LiveVerbDeps {
  readonly api: Pick<Api, "control" | "evaluate" | "liveTensors">;
  readonly activity: Activity;
  readonly facts: LiveFacts;
  readonly derived: LiveDerived;
  readonly toasts: Toasts;
  /** Shows a run, unless it is shown. */
  readonly showRun: (run: RunName) => void;
}

/** Sends a command; returns whether it was done. Why not is in `refusal`, and in a toast. */
export type Send = (command: Command, about?: "pause" | "going on") => Promise<boolean>;

export type LiveVerbs = ReturnType<typeof createLiveVerbs>;

export function createLiveVerbs(deps: LiveVerbDeps) {
  const send = createSend(deps);
  return {
    send,
    ...createStepVerbs(send),
    ...createBreakpointVerbs(deps, send),
    ...createValueVerbs(deps, send),
    ...createViewVerbs(deps),
  };
}

function createSend({ api, activity, facts, derived, toasts }: LiveVerbDeps): Send {
  function take(id: ProgramId, { done, sentence: words, state }: Outcome): boolean {
    const answer = facts.answer.peek();
    batch(() => {
      if (answer !== undefined && state !== undefined)
        facts.answer.value = { ...answer, programs: withState(answer.programs, id, state) };
      facts.refusal.value = done ? undefined : words;
      facts.connection.value = undefined;
    });
    if (!done) toasts.show(words, "failure");
    return done;
  }
  // Those under way, and whether one of them ends the current pause.
  let [earlier, isGoingOn]: [Promise<unknown>, boolean] = [Promise.resolve(), false];
  return async (command, about) => {
    const program = derived.program.peek();
    if (program === undefined || facts.answer.peek() === undefined) return false;
    // A key that is held down repeats faster than the program answers; the pause is over by then.
    const endsPause = about === "going on";
    if (endsPause && isGoingOn) return false;
    const pauseNumber = about === undefined ? 0 : (program.state?.pause?.number ?? 0);
    isGoingOn ||= endsPause;
    const post = () => api.control(program.id, command, pauseNumber);
    // A breakpoint or a value that was set before the program goes on must be there when it does.
    const sent = endsPause ? earlier.then(post) : post();
    earlier = Promise.allSettled([earlier, sent]).then(() => undefined);
    try {
      return take(program.id, await activity.track(sent));
    } catch (error) {
      // The next answer about programs says that the server is back.
      const isGone = error instanceof RouteError && error.status === 0;
      facts[isGone ? "connection" : "refusal"].value = sentence(error);
      toasts.show(sentence(error), "failure");
      return false;
    } finally {
      if (endsPause) isGoingOn = false;
    }
  };
}

function createStepVerbs(send: Send) {
  return {
    step: () => send({ step: {} }, "going on"),
    stepOver: () => send({ step_over: {} }, "going on"),
    /** Without a part, the program runs on until a breakpoint. */
    continueUntil: (until: Continuation = {}) => send({ continue_: until }, "going on"),
    pauseNow: () => send({ pause: {} }),
    detach: () => send({ detach: {} }),
    /** Ends the program. */
    stopProgram: () => send({ stop: {} }),
  };
}

function createBreakpointVerbs({ derived }: LiveVerbDeps, send: Send) {
  const all = () => derived.state.peek()?.breakpoints ?? [];
  const set = (breakpoint: NewBreakpoint) => send({ set_breakpoint: breakpoint });
  const remove = (number: BreakpointNumber) => send({ remove_breakpoint: number });
  return {
    setBreakpoint: set,
    removeBreakpoint: remove,
    changeBreakpoint: (breakpoint: Breakpoint, by: Partial<NewBreakpoint>) => set(changed(breakpoint, by)),
    /** Sets a breakpoint at a place, or removes the one that is there. */
    toggle(where: Where): Promise<boolean> {
      const there = breakpointAt(all(), where);
      return there === undefined ? set(newBreakpoint(where)) : remove(there.number);
    },
    /** Follows the numbers of a tensor while the program runs. */
    watch: (where: Partial<Where>) => send({ watch: where }),
    unwatch: (number: number) => send({ unwatch: number }),
  };
}

function createValueVerbs({ api, activity, facts, derived }: LiveVerbDeps, send: Send) {
  return {
    /** Changes the value at which the program is paused, this once. */
    changeValue: (tensor: LiveTensorNumber, expression: string) =>
      send({ change_value: { tensor, expression } }, "pause"),
    /** The result of an expression over the held tensors. */
    async evaluate(expression: string): Promise<Evaluation> {
      const program = derived.program.peek();
      if (program === undefined || facts.answer.peek() === undefined)
        throw new Error("No program is running.");
      return activity.track(api.evaluate(program.id, expression));
    },
  };
}

function createViewVerbs({ facts, derived, toasts, showRun }: LiveVerbDeps) {
  return {
    chooseProgram(id: ProgramId): void {
      const run = derived.programs.peek().find((program) => program.id === id)?.run;
      batch(() => {
        if (run !== undefined) showRun(run);
        facts.chosen.value = id;
        facts.gone.value = undefined;
        facts.refusal.value = undefined;
      });
    },
    /** Closes the bar of a program that has ended, and of others that have. */
    closeEnded(): void {
      const over = derived.programs.peek().filter((program) => situationOf(program) === "ended");
      batch(() => {
        facts.closed.value = new Set([...facts.closed.peek(), ...over.map(({ id }) => id)]);
        facts.gone.value = undefined;
        if (facts.dock.peek() !== "comparison") facts.dock.value = undefined;
      });
    },
    dismissToast: toasts.dismiss,
    /** Opens a panel; without a name, the recording. */
    openDock(name: DockName | undefined): void {
      facts.dock.value = name;
    },
    setCardOpen(isOpen: boolean): void {
      facts.isCardOpen.value = isOpen;
    },
  };
}
