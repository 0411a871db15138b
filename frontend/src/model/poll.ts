/** The time to wait before the next request that asks for changes. */

export interface PollState {
  /** Whether the program ended its recording; undefined when it cannot be known. */
  readonly finished: boolean | undefined;
  readonly loading: boolean;
  readonly failed: boolean;
  /** Seconds since the last change. */
  readonly silent: number;
  /** Seconds since the reader came to the page, or back to it. */
  readonly looked: number;
}

/** Seconds without a change after which a program is no longer called live. */
export const SILENT = 120;

/** The server's status of a finished run may be this many seconds old, because it reads its files seldom. */
const SETTLES = 12;

/** Seconds to wait; `only` is set when the status of the run in focus is not requested. */
export interface Poll {
  readonly seconds: number;
  readonly only?: "runs";
}

/**
 * For a finished run only the list of runs is requested: its folder may be recorded into again, and other
 * runs may come, which the host does not report.
 */
export function nextPoll({ finished, loading, failed, silent, looked }: PollState): Poll {
  if (failed) return { seconds: 3 };
  if (loading) return { seconds: 0.5 };
  if (finished === true)
    return Math.min(silent, looked) < SETTLES ? { seconds: 3 } : { seconds: 15, only: "runs" };
  return { seconds: silent > SILENT ? 10 : 0.75 };
}
