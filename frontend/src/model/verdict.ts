/** The words for a run without alerts, for a first cause, and for the state of a run. */
import type { Diagnosis, Status } from "../api/answers";
import { JUDGES } from "../api/generated/modes";
import { counted } from "../base/text";
import { doubtsOf, type Gap, gapsOf } from "./gaps";

/** The words for a run without alerts. */
export interface Verdict {
  readonly headline: string;
  readonly sentence: string;
  /** Whether all of the program was measured; only then is the headline good news. */
  readonly isWhole: boolean;
  readonly gaps: readonly Gap[];
  readonly doubts: readonly string[];
}

/** Whether the mode of the run measures NaN and infinity; true for a mode that this page does not know. */
export function looksForBad({ tensor_debug_mode: mode }: Status): boolean {
  return mode === undefined || (JUDGES.get(mode) ?? true);
}

/** The words claim only what was measured: values that are not recorded may be bad. */
export function verdictOf(status: Status): Verdict {
  const [gaps, doubts] = [gapsOf(status), doubtsOf(status)];
  const isWhole = gaps.length + doubts.length === 0;
  const ended = status.finished === true && status.loading === undefined;
  const { num_executions: executions, num_graph_executions: traces } = status;
  if (executions + traces === 0) {
    const loading = status.loading !== undefined;
    const sentence = loading
      ? "Its first events are being read."
      : `Nothing ${ended ? "was" : "has been"} recorded${ended ? "" : " yet"}.`;
    return {
      headline: loading ? "Loading …" : "Nothing is on record",
      sentence,
      isWhole: false,
      gaps,
      doubts,
    };
  }
  const soFar = ended ? "" : " so far";
  const where = isWhole ? "" : " in what was recorded";
  return {
    headline: `No NaN and no infinity${where}${soFar}`,
    sentence:
      `All that ${ended ? "is" : "so far is"} on record was finite wherever it was measured: ` +
      `${counted(executions, "execution")} and ${counted(traces, "tensor")} in graphs.`,
    isWhole,
    gaps,
    doubts,
  };
}

/** The words before the diagnosis of the first cause, which need not be the first alert, nor bad. */
export function firstCauseLabel({ index, alert }: Diagnosis): string {
  return (index ?? 0) === 0 && alert?.bad !== false ? "First bad value: " : "First cause: ";
}

/** The state of the recording. */
export interface RunState {
  readonly kind: "done" | "live" | "unknown" | "stopped";
  readonly text: string;
  readonly why: string;
}

/** `isSilent` is true when nothing was recorded for a while. */
export function stateOf(status: Status, isSilent: boolean): RunState {
  const severe = gapsOf(status).find((gap) => gap.severe);
  if (severe !== undefined) return { kind: "stopped", text: severe.title, why: severe.message };
  if (status.finished === true)
    return { kind: "done", text: "finished", why: "The program ended its recording." };
  if (status.finished === undefined)
    return {
      kind: "unknown",
      text: "recorded",
      why: "Whether the program still runs is not known; new data come by themselves.",
    };
  return isSilent
    ? {
        kind: "unknown",
        text: "not ended",
        why: "Nothing new has come for a while, and the program did not end its recording: it computes nothing that is recorded, or it was killed. New data come by themselves.",
      }
    : { kind: "live", text: "live", why: "The program is still recording; new data come by themselves." };
}
