/** Values that are asked from the server as facts change. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { Loaded } from "../../base/loaded";
import type { Deps } from "../deps";
import { resource } from "../resource";

/** A value by its key; an undefined key asks for nothing. */
export type Ask = <K, T>(
  key: () => K | undefined,
  load: (key: K, signal: AbortSignal) => Promise<T>,
) => ReadonlySignal<Loaded<T> | undefined>;

/** A failed value is asked for again after a change of the run, and when the server answers again. */
export function createAsk({ facts, activity }: Deps): Ask {
  const again = computed(() => `${facts.status.value?.generation} ${facts.reconnects.value}`);
  return (key, load) => resource(computed(key), load, activity, again).loaded;
}

export function both<A, B>(a: A | undefined, b: B | undefined): readonly [A, B] | undefined {
  return a === undefined || b === undefined ? undefined : [a, b];
}

export function ready<T>(loaded: Loaded<T> | undefined): T | undefined {
  return loaded?.kind === "ready" ? loaded.value : undefined;
}
