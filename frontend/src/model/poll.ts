/** How long to wait before asking again whether anything changed. */

export interface PollState {
  /** The program said that nothing will follow; undefined when it cannot be known. */
  readonly finished: boolean | undefined;
  readonly loading: boolean;
  readonly failed: boolean;
  /** Seconds since the last change. */
  readonly silent: number;
}

/** Seconds. A finished run is looked at now and then, because its folder may be recorded into again, and other runs may come. */
export function pollDelay({ finished, loading, failed, silent }: PollState): number {
  if (failed) return 3;
  if (loading) return 0.5;
  if (finished === true) return 10;
  return silent > 120 ? 10 : 1.5;
}
