/** The clock of the store; a test hands in its own. */

export interface Timer {
  now(): number;
  /** Calls once after the seconds; returns a function that cancels the call. */
  after(seconds: number, act: () => void): () => void;
}

export const browserTimer: Timer = {
  now: () => Date.now() / 1000,
  after(seconds, act) {
    const id = setTimeout(act, seconds * 1000);
    return () => clearTimeout(id);
  },
};
