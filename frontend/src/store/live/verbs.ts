/** What the reader can do with the program in focus, and in its panels. */
import { batch } from "@preact/signals";
import { RouteError } from "../../api/fetch";
import type {
  Breakpoint,
  Command,
  Continuation,
  Evaluation,
  LiveTensor,
  NewBreakpoint,
  Outcome,
  Where,
} from "../../api/live";
import type { Api } from "../../api/routes";
import { remember } from "../../base/host";
import {
  type BreakpointNumber,
  type LiveTensorNumber,
  liveTensorNumber,
  type ProgramId,
  type RunName,
} from "../../base/ids";
import { type Loaded, sentence } from "../../base/loaded";
import type { Jump } from "../../model/find";
import { groupsOf, LISTED, matchesOf } from "../../model/find";
import type { ListedOp } from "../../model/live/op_list";
import { boxChange } from "../../model/live/op_marks";
import type { Grouping, OpTree, TreeNode } from "../../model/live/op_tree";
import { atTensor, breakpointAt, changed, isSamePlace, newBreakpoint } from "../../model/live/places";
import { situationOf, withState } from "../../model/live/program";
import type { NameFilter } from "../../model/live/tensor_rows";
import { keptAs, withExpression } from "../../model/live/watches";
import { displayName } from "../../model/names";
import { type Activity, setter } from "../common/activity";
import type { Dock } from "../dock/dock";
import type { FocusFacts } from "../focus/facts";
import type { FocusVerbs } from "../focus/verbs";
import type { RunFacts } from "../run/run";
import type { ValueFacts, ValueVerbs } from "../values/verbs";
import type { Evaluated, LiveDerived, LiveFacts, PanelFacts } from "./facts";
import type { Toasts } from "./follow";

export interface LiveVerbDeps {
  readonly api: Pick<Api, "control" | "evaluate" | "liveTensors">;
  readonly activity: Activity;
  readonly facts: LiveFacts;
  readonly derived: LiveDerived;
  readonly toasts: Toasts;
  readonly dock: Dock;
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
    ...createProgramValueVerbs(deps, send),
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
    /** To the end of the current call. */
    stepOut: () => send({ step_out: {} }, "going on"),
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

function createProgramValueVerbs({ api, activity, facts, derived }: LiveVerbDeps, send: Send) {
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

function createViewVerbs({ facts, derived, toasts, showRun, dock }: LiveVerbDeps) {
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
        if (dock.open.peek() !== "comparison") dock.show(undefined);
      });
    },
    dismissToast: toasts.dismiss,
    setCardOpen: setter(facts.isCardOpen),
  };
}

export interface PanelVerbDeps {
  readonly api: Pick<Api, "find">;
  readonly store: RunFacts & ValueFacts & Pick<FocusFacts, "problem">;
  readonly live: LiveFacts & LiveDerived & LiveVerbs;
  readonly facts: PanelFacts;
  readonly verbs: Pick<FocusVerbs, "focusOp"> &
    Pick<ValueVerbs, "showValue" | "showOccurrence"> & { jump(to: Jump): Promise<void> };
}

export function createPanelVerbs(deps: PanelVerbDeps) {
  return {
    ...createTensorVerbs(deps),
    ...createNameVerb(deps),
    ...createTreeVerbs(deps),
    ...createExpressionVerbs(deps),
    ...createWatchVerbs(deps),
    setCurveNumber: setter(deps.facts.curveNumber),
  };
}

function createTensorVerbs({ live, facts, verbs }: PanelVerbDeps) {
  function show(number: number, program: ProgramId | undefined): void {
    if (program === undefined) return;
    facts.isFollowing.value = true;
    verbs.showValue({ kind: "live", program, tensor: liveTensorNumber(number) });
  }
  return {
    setTensorFilter: setter(facts.tensorFilter),
    /** Marks a tensor in the list, and shows its op in the other panes. */
    chooseTensor({ number, graph_id: graph, op_name: opName }: LiveTensor): void {
      facts.chosenTensor.value = number;
      if (graph !== "") verbs.focusOp({ graph, opName, graphExecution: undefined, owner: undefined });
    },
    /** Opens the elements of a tensor that the program holds. */
    showLiveValue: (number: number) => show(number, facts.rowsOf.peek()),
    /** Opens the result of an expression. */
    showResult: ({ program, result }: Pick<Evaluated, "program" | "result">) => {
      if (result.kind === "ready") show(result.value.tensor, program);
    },
    /** Shows an earlier or later time of the open tensor; the newest one is followed. */
    showSeen(number: number, program: ProgramId, isNewest: boolean): void {
      facts.isFollowing.value = isNewest;
      verbs.showOccurrence({ kind: "live", program, tensor: liveTensorNumber(number) });
    },
    continueTo: (tensor: LiveTensor) => live.continueUntil({ tensor: atTensor(tensor) }),
    ...createMarkVerbs(live),
  };
}

/** Leads to what a name stands for in the recording: an op, a tensor, a function or an argument. */
function createNameVerb({ api, store, verbs }: PanelVerbDeps) {
  return {
    async focusName(name: string): Promise<void> {
      const run = store.run.peek();
      if (run === undefined) return;
      // An argument has its type after its name.
      const text = displayName(name.replace(/: .*$/s, ""));
      try {
        const matches = matchesOf(groupsOf(await api.find(run, text, LISTED), text));
        const exact = matches.find(({ title }) => title === text) ?? matches[0];
        if (exact === undefined) throw new Error(`The recording has nothing named ${text} yet.`);
        await verbs.jump(exact.jump);
      } catch (error) {
        store.problem.value = sentence(error);
      }
    },
  };
}

/** Breakpoints and curves of a tensor. */
function createMarkVerbs(live: PanelVerbDeps["live"]) {
  const watchedOf = (tensor: LiveTensor) =>
    live.state.value?.watched.find(({ where }) => isSamePlace(where, atTensor(tensor)));
  return {
    hasBreakpoint: (tensor: LiveTensor) =>
      breakpointAt(live.state.value?.breakpoints ?? [], atTensor(tensor)) !== undefined,
    isWatched: (tensor: LiveTensor) => watchedOf(tensor) !== undefined,
    toggleTensor: (tensor: LiveTensor) => live.toggle(atTensor(tensor)),
    toggleWatch(tensor: LiveTensor): Promise<boolean> {
      const there = watchedOf(tensor);
      return there === undefined ? live.watch(atTensor(tensor)) : live.unwatch(there.number);
    },
  };
}

function createTreeVerbs({ live, facts, verbs }: PanelVerbDeps) {
  return {
    setGrouping(grouping: Grouping): void {
      batch(() => {
        facts.grouping.value = grouping;
        facts.openGroups.value = undefined;
        facts.boxRefusal.value = undefined;
      });
    },
    setOpFilter(filter: NameFilter): void {
      batch(() => {
        facts.opFilter.value = filter;
        facts.openGroups.value = undefined;
        facts.boxRefusal.value = undefined;
      });
    },
    setOpenGroups(keys: ReadonlySet<string>): void {
      facts.openGroups.value = keys;
    },
    focusListedOp({ graph, name: opName }: ListedOp): void {
      verbs.focusOp({ graph, opName, graphExecution: undefined, owner: undefined });
    },
    /** Sets the breakpoints of a node of the tree, or removes them. */
    async toggleBox(tree: OpTree, node: TreeNode): Promise<void> {
      const isFiltered = facts.opFilter.peek().text.trim() !== "";
      const change = boxChange(tree, node, live.state.peek()?.breakpoints ?? [], isFiltered);
      facts.boxRefusal.value = change.kind === "refused" ? change.sentence : undefined;
      if (change.kind === "remove") for (const number of change.numbers) await live.removeBreakpoint(number);
      if (change.kind === "set")
        for (const where of change.wheres) if (!(await live.setBreakpoint(newBreakpoint(where)))) return;
    },
  };
}

function createWatchVerbs({ live, facts }: PanelVerbDeps) {
  function keep(watches: readonly string[]): void {
    facts.watches.value = watches;
    const program = live.program.peek();
    if (program !== undefined) remember(keptAs(program), JSON.stringify(watches));
  }
  return {
    /** Evaluates an expression anew at each pause, from now on. */
    addWatch: (expression: string) => keep(withExpression(facts.watches.peek(), expression)),
    removeWatch: (expression: string) => keep(facts.watches.peek().filter((one) => one !== expression)),
  };
}

/** Expressions that stay in the history. */
const MOST_EVALUATED = 50;

function createExpressionVerbs(deps: PanelVerbDeps) {
  const { live, facts } = deps;
  let last = 0;
  const keep = (change: (all: readonly Evaluated[]) => readonly Evaluated[]) => {
    facts.evaluated.value = change(facts.evaluated.peek());
  };
  const settle = (number: number, result: Loaded<Evaluation>) =>
    keep((all) => all.map((one) => (one.number === number ? { ...one, result } : one)));
  return {
    async evaluate(expression: string): Promise<void> {
      const program = live.program.peek()?.id;
      if (expression.trim() === "" || program === undefined) return;
      const number = ++last;
      const entry = { number, program, expression: expression.trim(), result: WAITING };
      keep((all) => [entry, ...all].slice(0, MOST_EVALUATED));
      try {
        settle(number, { kind: "ready", value: await live.evaluate(entry.expression) });
      } catch (error) {
        settle(number, { kind: "failed", message: sentence(error) });
      }
    },
    forgetEvaluated: (number: number) => keep((all) => all.filter((one) => one.number !== number)),
    changeValue: (expression: string) => changeValue(deps, expression.trim()),
  };
}

const WAITING: Loaded<Evaluation> = { kind: "loading", stale: undefined };

/** Changes the value at which the program is paused, and says what came of it. */
async function changeValue({ store, live, facts }: PanelVerbDeps, expression: string): Promise<void> {
  const pause = live.state.peek()?.pause;
  if (pause?.tensor === undefined || expression === "") return;
  const done = await live.changeValue(pause.tensor.number, expression);
  const why = live.refusal.peek() ?? "The value was not changed.";
  const words = done ? `Changed to ${expression}: the ops after it get the new value.` : why;
  batch(() => {
    facts.changed.value = { pause: pause.number, sentence: words, done };
    if (done) store.liveEdition.value = store.liveEdition.peek() + 1;
  });
}
