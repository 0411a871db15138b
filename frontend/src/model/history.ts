/** The history of focuses, with a current one, for the buttons *back* and *forward*. */

export interface History<T> {
  readonly steps: readonly T[];
  /** The position of the current step; -1 for an empty history. */
  readonly at: number;
}

const MAX_STEPS = 100;

export const NO_HISTORY: History<never> = { steps: [], at: -1 };

export function current<T>(history: History<T>): T | undefined {
  return history.steps[history.at];
}

/**
 * Adds a step after the current one and drops those that followed it; a step equal to the current one changes
 * nothing.
 */
export function stepTo<T>(history: History<T>, step: T, same: (a: T, b: T) => boolean): History<T> {
  const here = current(history);
  if (here !== undefined && same(here, step)) return history;
  const steps = [...history.steps.slice(0, history.at + 1), step].slice(-MAX_STEPS);
  return { steps, at: steps.length - 1 };
}

export function canMove<T>(history: History<T>, by: 1 | -1): boolean {
  return history.steps[history.at + by] !== undefined;
}

export function move<T>(history: History<T>, by: 1 | -1): History<T> {
  return canMove(history, by) ? { ...history, at: history.at + by } : history;
}
