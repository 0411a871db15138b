/**
 * The routes of programs that run, and the types of their answers: protos/live.proto as JSON. Enumerations are
 * lower-case names, and a message that is not set is null.
 */
import * as ids from "../base/ids";
import { opInfo, status } from "./answers";
import { branded, type Checked, list, number, object, oneOf, optional, text, truth } from "./check";
import type { Client } from "./fetch";

const kind = oneOf("function", "session_run", "step");
const breakpointNumber = branded(number, ids.breakpointNumber);

/** A number of a tensor; one that is NaN or infinite is undefined, because JSON has no such numbers. */
const measured = object({ name: text, value: optional(number) });
export type Measured = Checked<typeof measured>;

const call = object({
  number,
  kind,
  name: text,
  feeds: list(text),
  fetches: list(text),
  targets: list(text),
  thread: text,
  is_over: truth,
  path: text,
  line: number,
  is_held: truth,
});
export type Call = Checked<typeof call>;

const callCount = object({
  name: text,
  kind,
  count: number,
  feeds: list(text),
  fetches: list(text),
  targets: list(text),
  devices: list(text),
  last_number: number,
});
export type CallCount = Checked<typeof callCount>;

const tensor = object({
  number: branded(number, ids.liveTensorNumber),
  graph_id: branded(text, ids.graphId),
  op_name: text,
  slot: number,
  op_type: text,
  dtype: number,
  shape: list(number),
  device: text,
  occurrence: number,
  numbers: list(measured),
  has_value: truth,
  no_value: text,
  text,
  path: text,
  line: number,
  function: text,
  layer: text,
  was_changed: truth,
  unknown_shape: truth,
});
export type LiveTensor = Checked<typeof tensor>;

const pause = object({
  reason: oneOf("before_call", "after_call", "step", "breakpoint", "condition", "asked", "error"),
  sentence: text,
  breakpoint: breakpointNumber,
  tensor: optional(tensor),
  number,
  can_change: truth,
  cannot_change: text,
  held_threads: number,
  others_may_have_passed: truth,
  wall_time: number,
  failed: optional(tensor),
  inputs: list(tensor),
  path: text,
  line: number,
});
export type Pause = Checked<typeof pause>;

const where = object({
  op_name: text,
  slot: number,
  op_type: text,
  name_regex: text,
  layer_regex: text,
  function_regex: text,
  path: text,
  line: number,
  calls: truth,
});
/** What a breakpoint stops at; an empty part fits everything. */
export type Where = Checked<typeof where>;

const breakpoint = object({
  number: breakpointNumber,
  where,
  condition: text,
  ignore: number,
  enabled: truth,
  label: text,
  hits: number,
  num_tensors: number,
  problem: text,
  note: text,
  first_only: truth,
});
export type Breakpoint = Checked<typeof breakpoint>;

const watched = object({
  where,
  number,
  points: list(object({ call: number, wall_time: number, numbers: list(measured) })),
});
export type Watched = Checked<typeof watched>;

const state = object({
  version: number,
  phase: oneOf("waiting", "running", "paused", "detached", "ended"),
  call: optional(call),
  pause: optional(pause),
  breakpoints: list(breakpoint),
  read_only: truth,
  may_change_values: truth,
  followers: number,
  doing: text,
  calls_left: number,
  watched: list(watched),
  notices: list(object({ number, sentence: text })),
  calls: list(callCount),
  held_bytes: number,
  max_held_bytes: number,
  dropped_values: number,
  running: list(call),
});
export type ProgramState = Checked<typeof state>;

const program = object({
  id: branded(text, ids.programId),
  run: optional(branded(text, ids.runName)),
  host: text,
  pid: number,
  program: list(text),
  started: number,
  problem: optional(text),
  state: optional(state),
});
/** A program that runs; its state is undefined while it cannot be reached, and `problem` says why. */
export type LiveProgram = Checked<typeof program>;

const programs = object({
  version: number,
  read_only: truth,
  why_read_only: text,
  programs: list(program),
});
export type LivePrograms = Checked<typeof programs>;

const outcome = object({
  done: truth,
  sentence: text,
  breakpoint: breakpointNumber,
  state: optional(state),
});
export type Outcome = Checked<typeof outcome>;

/** What is on record at a pause; `op` is undefined between calls, at eager ops, and for unknown ops. */
const paused = object({
  run: branded(text, ids.runName),
  is_complete: truth,
  status,
  op: optional(
    object({
      graph_execution: optional(branded(number, ids.graphExecutionIndex)),
      owner: optional(branded(number, ids.executionIndex)),
      info: opInfo,
    }),
  ),
});
export type Paused = Checked<typeof paused>;

const tensorList = object({ call: number, tensors: list(tensor), total: number });
export type LiveTensors = Checked<typeof tensorList>;

const evaluation = object({
  done: truth,
  text,
  dtype: number,
  shape: list(number),
  tensor: branded(number, ids.liveTensorNumber),
});
export type Evaluation = Checked<typeof evaluation>;

/** A breakpoint as the page sends it; without a number it is a new one. */
export interface NewBreakpoint {
  readonly number?: ids.BreakpointNumber;
  readonly where: Partial<Where>;
  readonly condition: string;
  readonly ignore: number;
  readonly enabled: boolean;
  readonly label: string;
  readonly first_only: boolean;
}

/** Until the first that happens; without any part, the program just runs on. */
export interface Continuation {
  /** This many calls, the current one included. */
  readonly calls?: number;
  /** Until the condition holds for any tensor. */
  readonly condition?: string;
  /** Until this tensor is computed. */
  readonly tensor?: Partial<Where>;
}

type Nothing = Readonly<Record<string, never>>;
/** One of the commands of a program. */
export type Command =
  | { readonly step: Nothing }
  | { readonly step_over: Nothing }
  | { readonly continue_: Continuation }
  | { readonly pause: Nothing }
  | { readonly detach: Nothing }
  | { readonly stop: Nothing }
  | { readonly set_breakpoint: NewBreakpoint }
  | { readonly remove_breakpoint: ids.BreakpointNumber }
  | { readonly change_value: { readonly tensor: ids.LiveTensorNumber; readonly expression: string } }
  | { readonly watch: Partial<Where> }
  | { readonly unwatch: number };

/** The seconds that the server waits for something newer before it answers anyway. */
const WAIT_S = 25;

export function liveRoutes(client: Client) {
  return {
    /** With `since`, answers when something is newer than that version, or after some seconds. */
    livePrograms: (since: number | undefined, signal?: AbortSignal) =>
      client.json("live/programs", since === undefined ? {} : { since, wait: WAIT_S }, programs, signal),
    /** Answers when everything up to the pause is read. */
    livePaused: (id: ids.ProgramId, pause: number, signal?: AbortSignal) =>
      client.json("live/paused", { program: id, pause }, paused, signal),
    /** The tensors of the current call with a higher number than `after`. */
    liveTensors: (
      id: ids.ProgramId,
      { after, limit }: { readonly after?: ids.LiveTensorNumber; readonly limit?: number },
      signal?: AbortSignal,
    ) => client.json("live/tensors", { program: id, after, limit }, tensorList, signal),
    /** A command about an earlier pause than `pauseNumber` is refused; 0 is any. */
    control: (id: ids.ProgramId, command: Command, pauseNumber: number) =>
      client.post(
        "live/control",
        { program: id, command: { ...command, pause_number: pauseNumber } },
        outcome,
      ),
    evaluate: (id: ids.ProgramId, expression: string) =>
      client.post("live/evaluate", { program: id, expression }, evaluation),
  };
}
