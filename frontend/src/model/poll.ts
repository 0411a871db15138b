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

/** Seconds without news after which a program is no longer thought to be under way. */
export const SILENT = 120;

/** What the server says of a finished run may be some seconds old: it looks at its files seldom. */
const SETTLES = 12;

/** How long to wait, and for what: where only runs are asked for, nothing of the run on screen is. */
export interface Poll {
  readonly seconds: number;
  readonly only?: "runs";
}

/**
 * Of a finished run nothing more is asked; its folder may be recorded into again, though, and other runs may come, and the
 * host that looks for them by itself does not say so.
 */
export function nextPoll({ finished, loading, failed, silent, looked }: PollState): Poll {
  if (failed) return { seconds: 3 };
  if (loading) return { seconds: 0.5 };
  if (finished === true)
    return Math.min(silent, looked) < SETTLES ? { seconds: 3 } : { seconds: 15, only: "runs" };
  return { seconds: silent > SILENT ? 10 : 0.75 };
}
