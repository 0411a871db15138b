/**
 * The routes of programs that run. Their answers have the messages of protos/live.proto as JSON: enumerations
 * are lower-case names, and a message that is not set is null, as is a number that is NaN or infinite.
 */
import type * as ids from "../base/ids";
import type { Client } from "./fetch";
import { livePrograms, paused } from "./generated/answers";
import { evaluation, outcome, tensorList, type Where } from "./generated/live";

export type { LiveProgram, LivePrograms, Paused } from "./generated/answers";
export type {
  Breakpoint,
  Call,
  CallCount,
  Evaluation,
  LoggedHit,
  Number as Measured,
  Outcome,
  Pause,
  StackLine,
  State as ProgramState,
  Tensor as LiveTensor,
  TensorList as LiveTensors,
  Watched,
  Where,
} from "./generated/live";

/** A breakpoint as the page sends it; without a number it is a new one. */
export interface NewBreakpoint {
  readonly number?: ids.BreakpointNumber;
  readonly where: Partial<Where>;
  readonly condition: string;
  readonly ignore: number;
  readonly enabled: boolean;
  readonly label: string;
  readonly first_only: boolean;
  /** Whether its hits are noted, in place of stopping the program. */
  readonly log_only: boolean;
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
  | { readonly step_out: Nothing }
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
      client.json("live/programs", since === undefined ? {} : { since, wait: WAIT_S }, livePrograms, signal),
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
