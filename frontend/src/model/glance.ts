/** The run at a glance: what the alert rules were asked, and what was recorded, in words. */
import type { HostSteps, Rule, RunVerdict, Status } from "../api/answers";
import { counted, duration } from "../base/text";
import { countedProcesses } from "./processes";

/** Whether the page opens on it: where there is no bad value to show. */
export function opensAtAGlance({ kind }: RunVerdict): boolean {
  return kind === "rules" || kind === "nothing" || kind === "unmeasured";
}

/** The recommended rules by what they found. */
export interface Checks {
  readonly broken: readonly Rule[];
  readonly kept: readonly Rule[];
  /** Rules that could not be asked, by why not. */
  readonly unasked: ReadonlyMap<string, readonly Rule[]>;
}

export function checksOf(rules: readonly Rule[]): Checks {
  const recommended = rules.filter((rule) => rule.recommended);
  const asked = recommended.filter(
    ({ missing, num_tensors }) => missing === undefined && num_tensors !== undefined,
  );
  const unasked = new Map<string, Rule[]>();
  for (const rule of recommended)
    if (rule.missing !== undefined) unasked.set(rule.missing, [...(unasked.get(rule.missing) ?? []), rule]);
  return {
    broken: asked.filter(({ num_tensors }) => (num_tensors ?? 0) > 0),
    kept: asked.filter(({ num_tensors }) => num_tensors === 0),
    unasked,
  };
}

/** What a step of a process is. */
const STEPS: Readonly<Record<HostSteps["kind"], string>> = {
  marked: "steps that the program marks",
  runs: "runs of sessions",
  calls: "calls of functions",
};

/** What was recorded: names and values of a table. */
export function recordedFacts(status: Status, steps: HostSteps | undefined): readonly [string, string][] {
  const { start_time: start, end_time: end, hosts } = status;
  const found: [string, string | undefined][] = [
    ["mode", status.tensor_debug_mode],
    ["steps", steps && `${counted(steps.num_steps, "step")}: ${STEPS[steps.kind]}`],
    ["calls", counted(status.num_executions, "execution")],
    ["in graphs", counted(status.num_graph_executions, "graph execution")],
    ["processes", hosts.length > 1 ? countedProcesses(hosts) : hosts[0]],
    ["time", start !== undefined && end !== undefined ? duration(end - start) : undefined],
    ["recorder", status.recorder],
    ["TensorFlow", status.tensorflow_version],
  ];
  return found.filter((fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== "");
}

/** How much longer a step took than the median of all: "12 times the median". */
export function timesWords(seconds: number, median: number | undefined): string {
  if (median === undefined || median <= 0) return "";
  const times = seconds / median;
  return times < 1.5 ? "" : `${times < 10 ? times.toFixed(1) : Math.round(times)} times the median`;
}
