/** Makes derived values that are requested from the server by a key, again whenever the key changes. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { Loaded } from "../../base/loaded";
import type { Deps } from "../deps";
import { resource } from "../resource";

/** Makes a value by its key; an undefined key requests nothing. */
export type ByKey = <K, T>(
  key: () => K | undefined,
  load: (key: K, signal: AbortSignal) => Promise<T>,
  /** The number of answers that are kept. */
  most?: number,
) => ReadonlySignal<Loaded<T> | undefined>;

/** A failed value is requested again after a change of the run, and when the server answers again. */
export function createByKey({ facts, activity }: Deps): ByKey {
  const again = computed(() => `${facts.status.value?.generation} ${facts.reconnects.value}`);
  return (key, load, most) => resource(computed(key), load, activity, again, most).loaded;
}

export function both<A, B>(a: A | undefined, b: B | undefined): readonly [A, B] | undefined {
  return a === undefined || b === undefined ? undefined : [a, b];
}

export function ready<T>(loaded: Loaded<T> | undefined): T | undefined {
  return loaded?.kind === "ready" ? loaded.value : undefined;
}
