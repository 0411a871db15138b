/** Where a pause is in the recording: the run, and the op or line that the page shows for it. */
import type { LiveProgram, LiveTensor } from "../../api/live";
import type { GraphId, ProgramId, RunName } from "../../base/ids";
import { situationOf } from "./program";

/** An op of a graph in the recording, or the type of an eager op. */
export interface HitOp {
  /** Undefined for an eager op. */
  readonly graph: GraphId | undefined;
  readonly opName: string;
  readonly opType: string;
  readonly slot: number;
}

export interface HitLine {
  readonly path: string;
  /** From 1. */
  readonly line: number;
}

export interface Hit {
  /** Differs between any two pauses of all programs. */
  readonly key: string;
  readonly program: ProgramId;
  readonly pause: number;
  readonly run: RunName;
  /** Undefined between calls. */
  readonly op: HitOp | undefined;
  readonly line: HitLine | undefined;
  /** Whether it is before a call, of which nothing is on record. */
  readonly isBetween: boolean;
}

/** The pause of a program; undefined when it is not paused or when its recording is not known. */
export function hitOf(program: LiveProgram | undefined): Hit | undefined {
  if (program?.run === undefined) return undefined;
  const now = situationOf(program);
  const { pause, call } = program.state ?? {};
  if ((now !== "paused" && now !== "waiting") || pause === undefined) return undefined;
  const tensor = pause.tensor ?? pause.failed;
  // The program may not know yet which op computed a tensor.
  const isNamed = tensor !== undefined && (tensor.op_name !== "" || tensor.op_type !== "");
  const place = tensor?.path ? tensor : pause.path ? pause : call;
  return {
    key: `${program.id} ${pause.number}`,
    program: program.id,
    pause: pause.number,
    run: program.run,
    op: isNamed ? opOf(tensor) : undefined,
    isBetween: tensor === undefined && call?.is_over !== true,
    line: place && place.path !== "" && place.line > 0 ? { path: place.path, line: place.line } : undefined,
  };
}

function opOf({ graph_id, op_name: opName, op_type: opType, slot }: LiveTensor): HitOp {
  return { graph: graph_id === "" ? undefined : graph_id, opName, opType, slot };
}
