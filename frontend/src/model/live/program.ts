/** Sentences about a program that runs, and which commands it takes now. */
import type { Call, LiveProgram, Pause, ProgramState, StackLine } from "../../api/live";
import type { ProgramId, RunName } from "../../base/ids";
import { basename, counted } from "../../base/text";
import { byName } from "../health";
import { displayName, tensorName } from "../names";

/** The situation of a program, for the colour of the bar and for what it offers. */
export type Situation = "waiting" | "running" | "paused" | "detached" | "ended" | "unreachable";

export function situationOf({ state }: LiveProgram): Situation {
  if (state === undefined || state.phase === "unknown") return "unreachable";
  return state.phase;
}

/** "train.py · pid 4711 · host7" */
export function programTitle({ program, pid, host }: LiveProgram): string {
  return [programName(program), `pid ${pid}`, host].filter(Boolean).join(" · ");
}

/** The script of a command line, which begins with it or with an interpreter. */
export function programName(command: readonly string[]): string {
  const script = command.find((word) => word.endsWith(".py")) ?? command[0] ?? "program";
  return basename(script);
}

/** "train_step (call 0)", "run of loss:0 (call 3)". */
export function callWords(call: Call): string {
  const name = displayName(call.name);
  const what =
    call.kind === "session_run"
      ? `run of ${name || call.fetches.join(", ") || "nothing"}`
      : name || (call.kind === "step" ? "eager ops" : "a function");
  return `${what} (call ${call.number})`;
}

/** What the live bar says: "Paused before train_step (call 0)", "Paused at sum:0 in work (call 3) · worker-1". */
export function headline(program: LiveProgram): string {
  const { state } = program;
  const isStopped = state?.phase === "waiting" || state?.phase === "paused";
  const thread =
    isStopped && state.call !== undefined && !isMain(state.call) ? ` · ${state.call.thread}` : "";
  return bareHeadline(program) + thread;
}

function isMain({ thread }: Call): boolean {
  return thread === "" || thread === "MainThread";
}

/** What a thread of the program does: where it is stopped is said above, the others wait or run. */
export interface ThreadRow {
  readonly thread: string;
  readonly call: string;
  readonly path: string;
  readonly line: number;
  readonly does: "stopped here" | "waits" | "runs";
  /** The tensor at which it is stopped; empty if it is at none, or if that is not known. */
  readonly at: string;
  /** The lines of the program that it runs, innermost first. */
  readonly stack: readonly StackLine[];
}

/** The threads that are inside of calls; none if that is only the main thread. */
export function threadRows(state: ProgramState | undefined): readonly ThreadRow[] {
  const { running = [], phase, call: atHand, pause } = state ?? {};
  if (running.every(isMain)) return [];
  const isStopped = phase === "waiting" || phase === "paused";
  return running.map((call) => {
    const isHere = isStopped && call.number === atHand?.number && call.thread === atHand.thread;
    const tensor = isHere ? pause?.tensor : undefined;
    const innermost = call.stack[0] ?? call;
    return {
      thread: call.thread,
      call: callWords(call),
      path: innermost.path,
      line: innermost.line,
      does: isHere ? "stopped here" : call.is_held ? "waits" : "runs",
      at: tensor === undefined ? "" : tensorName(tensor.op_name, tensor.slot),
      stack: call.stack,
    };
  });
}

function bareHeadline(program: LiveProgram): string {
  const { state } = program;
  switch (situationOf(program)) {
    case "unreachable":
      return program.problem ?? "The program does not answer.";
    case "waiting":
      return state?.call === undefined
        ? `Waiting for you before the first ${state?.pause === undefined ? "call" : "op"}`
        : `Waiting for you before ${callWords(state.call)}`;
    case "running":
      return runningWords(state);
    case "paused":
      return pausedWords(state);
    case "detached":
      return "Detached: the program runs on and does not stop again";
    case "ended":
      return "The program has ended";
  }
}

function runningWords(state: ProgramState | undefined): string {
  const call = state?.call === undefined || state.call.is_over ? "" : ` ${callWords(state.call)}`;
  const left = state?.calls_left ? `, ${counted(state.calls_left, "call")} left` : "";
  return `Running${call}${left} …`;
}

function pausedWords({ pause, call }: Partial<ProgramState> = {}): string {
  const inCall = call === undefined ? "" : callWords(call);
  const tensor = pause?.tensor;
  if (tensor !== undefined) {
    const at = tensor.op_name === "" ? "a tensor" : tensorName(tensor.op_name, tensor.slot);
    return `Paused at ${at}${inCall === "" ? "" : ` in ${inCall}`}`;
  }
  if (inCall === "") return pause?.reason === "before_call" ? "Paused before the first op" : "Paused";
  if (pause?.failed !== undefined)
    return `Paused: ${tensorName(pause.failed.op_name, Math.max(0, pause.failed.slot))} in ${inCall} failed`;
  if (pause?.reason === "error") return `Paused: ${inCall} raised an error`;
  return `Paused ${pause?.reason === "after_call" || call?.is_over ? "after" : "before"} ${inCall}`;
}

/** Why a program is paused, without what the headline says already; empty if that is all. */
export function pauseWords(program: LiveProgram): string {
  const { pause, call } = program.state ?? {};
  if (pause === undefined || pause.sentence === `${bareHeadline(program)}.`) return "";
  const before = call === undefined ? "" : `Paused after ${callWords(call)}: `;
  const isSaid = before !== "" && pause.sentence.startsWith(before);
  return isSaid ? pause.sentence.slice(before.length) : pause.sentence;
}

/** More about a pause, after its sentence: what else the reader must know. */
export function pauseNotes(pause: Pause): readonly string[] {
  const { held_threads: held, others_may_have_passed: passed } = pause;
  return [
    passed ? "Ops that run in parallel may have run past this tensor." : "",
    held > 0 ? `${counted(held, "other thread")} of the program ${held === 1 ? "waits" : "wait"} too.` : "",
  ].filter((note) => note !== "");
}

/** The commands of the live bar. */
export type Action = "step" | "stepOver" | "stepOut" | "continue" | "pause" | "detach" | "stop";

/** Why an action cannot be done now; undefined when it can. */
export type Refusals = Readonly<Record<Action, string | undefined>>;

const HELD: readonly Situation[] = ["waiting", "paused"];
const ALIVE: readonly Situation[] = ["waiting", "paused", "running"];
const TAKEN_IN: Readonly<Record<Action, readonly Situation[]>> = {
  step: HELD,
  stepOver: HELD,
  stepOut: HELD,
  continue: HELD,
  pause: ["running"],
  detach: ALIVE,
  stop: [...ALIVE, "detached"],
};
const NOT_NOW: Readonly<Record<Situation, string>> = {
  waiting: "The program waits already.",
  paused: "The program is paused already.",
  running: "The program is running: pause it first.",
  detached: "The program runs on without the debugger.",
  ended: "The program has ended.",
  unreachable: "The program does not answer.",
};

/** Which actions a program takes now; `readOnly` is why the viewer takes none. */
export function refusals(program: LiveProgram, readOnly: string | undefined): Refusals {
  const now = situationOf(program);
  const shut = readOnlyWords(program, readOnly);
  const why = (action: Action) => shut ?? (TAKEN_IN[action].includes(now) ? undefined : NOT_NOW[now]);
  return byName(Object.keys(TAKEN_IN) as Action[], why);
}

/** Why the program takes no command at all; undefined when it does. */
export function readOnlyWords({ state }: LiveProgram, readOnly: string | undefined): string | undefined {
  if (readOnly !== undefined) return readOnly;
  return state?.read_only === true ? "The program is read-only: it takes no commands." : undefined;
}

/** Whether breakpoints can be changed now. */
export function mayEdit(program: LiveProgram | undefined, readOnly: string | undefined): boolean {
  if (program === undefined || readOnlyWords(program, readOnly) !== undefined) return false;
  return ALIVE.includes(situationOf(program));
}

const RANK: readonly Situation[] = ["paused", "waiting", "running", "detached", "unreachable", "ended"];

/**
 * The program that is shown when the reader chose none: one that waits, that of the run in focus, else the one
 * started last.
 */
export function firstProgram(programs: readonly LiveProgram[], run?: RunName): LiveProgram | undefined {
  const rank = (program: LiveProgram) => RANK.indexOf(situationOf(program));
  const other = (program: LiveProgram) => (run !== undefined && program.run === run ? 0 : 1);
  return [...programs].sort((a, b) => rank(a) - rank(b) || other(a) - other(b) || b.started - a.started)[0];
}

/**
 * The programs of a new answer. The state that a command answered may be newer than the one in the list; of two
 * states of a program, the newer one is kept.
 */
export function merged(before: readonly LiveProgram[], now: readonly LiveProgram[]): readonly LiveProgram[] {
  const states = new Map(before.map(({ id, state }) => [id, state]));
  return now.map((program) => {
    const known = states.get(program.id);
    const isOlder = (program.state?.version ?? 0) < (known?.version ?? 0);
    return isOlder && program.state !== undefined ? { ...program, state: known } : program;
  });
}

/** The programs with a newer state of one of them. */
export function withState(
  programs: readonly LiveProgram[],
  id: ProgramId,
  state: ProgramState,
): readonly LiveProgram[] {
  return programs.map((program) =>
    program.id === id && state.version >= (program.state?.version ?? 0) ? { ...program, state } : program,
  );
}

/** A program that left the list: its last state, with the end. */
export function ended(program: LiveProgram): LiveProgram {
  const { state } = program;
  return state === undefined
    ? program
    : { ...program, problem: undefined, state: { ...state, phase: "ended", pause: undefined } };
}
