/** Steps of the program: which one is in focus, and the next one with a tensor. */
import type { HostSteps } from "../api/answers";

/** A step of a process, of so many. */
export interface StepOf {
  readonly step: number;
  /** The number of steps. */
  readonly of: number;
}

/** "step 3 of 40": as in the recording, the first step is 0. */
export function stepWords({ step, of }: StepOf): string {
  return `step ${step} of ${of}`;
}

/** The steps of the process in focus: that of the row, or the one with the most steps. */
export function stepsOf(hosts: readonly HostSteps[], host: string | undefined): HostSteps | undefined {
  const longest = [...hosts].sort((a, b) => b.num_steps - a.num_steps)[0];
  return hosts.find(({ host: name }) => name === host) ?? longest;
}

/** The steps before or after one, as a filter; undefined when there is none. */
export function stepsBeside(step: number, by: 1 | -1): string | undefined {
  if (by === 1) return `${step + 1}..`;
  return step > 0 ? `0..${step - 1}` : undefined;
}

/** A step within the steps of a process. */
export function within(step: number, { num_steps }: Pick<HostSteps, "num_steps">): number {
  return Math.max(0, Math.min(num_steps - 1, Math.round(step)));
}
