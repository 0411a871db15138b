/** The choices of the reader: a later one overtakes an earlier one that still waits for the server. */
import { batch } from "@preact/signals";
import { sentence } from "../../base/loaded";
import type { Deps } from "../deps";

export interface Choice {
  /** Makes a choice that waits for nothing. */
  make(): void;
  /** The number of the latest choice. */
  latest(): number;
  /**
   * Makes a choice that waits: `act` gets the value, unless a later choice was made; a failure becomes
   * `problem`.
   */
  wait<T>(promise: Promise<T>, act: (value: T) => void): Promise<void>;
}

export function createChoice({ facts, activity }: Deps): Choice {
  let latest = 0;
  return {
    make() {
      latest++;
    },
    latest: () => latest,
    async wait(promise, act) {
      const mine = ++latest;
      facts.problem.value = undefined;
      try {
        const value = await activity.track(promise);
        if (mine === latest) batch(() => act(value));
      } catch (error) {
        if (mine === latest) facts.problem.value = sentence(error);
      }
    },
  };
}
