/** The ops looked at one after the other, with a place in them, as the back and forward buttons of a browser know it. */

export interface Walk<T> {
  readonly steps: readonly T[];
  readonly at: number;
}

const LONGEST = 100;

export const NO_WALK: Walk<never> = { steps: [], at: -1 };

export function current<T>(walk: Walk<T>): T | undefined {
  return walk.steps[walk.at];
}

/** A step to what is already there is no step; what lay ahead is forgotten. */
export function stepTo<T>(walk: Walk<T>, step: T, same: (a: T, b: T) => boolean): Walk<T> {
  const here = current(walk);
  if (here !== undefined && same(here, step)) return walk;
  const steps = [...walk.steps.slice(0, walk.at + 1), step].slice(-LONGEST);
  return { steps, at: steps.length - 1 };
}

export function canMove<T>(walk: Walk<T>, by: 1 | -1): boolean {
  return walk.steps[walk.at + by] !== undefined;
}

export function move<T>(walk: Walk<T>, by: 1 | -1): Walk<T> {
  return canMove(walk, by) ? { ...walk, at: walk.at + by } : walk;
}
