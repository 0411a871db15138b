/** Counts running requests, so that a test can wait for the end of the last one instead of sleeping. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";

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
