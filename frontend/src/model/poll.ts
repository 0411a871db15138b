/** How long to wait before asking again whether anything changed. */

export interface PollState {
  /** The program said that nothing will follow; undefined when it cannot be known. */
  readonly finished: boolean | undefined;
  readonly loading: boolean;
  readonly failed: boolean;
  /** Seconds since the last change. */
  readonly silent: number;
  /** Seconds since the reader came to the page, or back to it. */
  readonly looked: number;
}

/** What the server says of a finished run may be some seconds old: it looks at its files seldom. */
const SETTLES = 12;

/**
 * Seconds; undefined = not before the reader comes back. A finished run costs nothing: its folder may be recorded into
 * again, and other runs may come, but who waits for that reloads or comes back to the page.
 */
export function pollDelay({ finished, loading, failed, silent, looked }: PollState): number | undefined {
  if (failed) return 3;
  if (loading) return 0.5;
  if (finished === true) return Math.min(silent, looked) < SETTLES ? 3 : undefined;
  return silent > 120 ? 10 : 0.75;
}
