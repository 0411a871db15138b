/** The clock of the store, and the number of running requests, for which a test waits instead of sleeping. */
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";

export interface Activity {
  readonly busy: ReadonlySignal<boolean>;
  /** Counts the promise as running until it settles, and returns it. */
  track<T>(promise: Promise<T>): Promise<T>;
}

export function createActivity(): Activity {
  const count = signal(0);
  return {
    busy: computed(() => count.value > 0),
    track(promise) {
      count.value = count.peek() + 1;
      const done = () => {
        count.value = count.peek() - 1;
      };
      promise.then(done, done);
      return promise;
    },
  };
}

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

/** A verb that sets a fact. */
export function setter<T>(fact: Signal<T>): (value: T) => void {
  return (value) => {
    fact.value = value;
  };
}

/** One function that ends all of these. */
export function together(stops: readonly (() => void)[]): () => void {
  return () => {
    for (const stop of stops) stop();
  };
}
