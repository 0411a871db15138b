/**
 * An answer of the server by its key. The newest key wins: an older request is aborted and its answer is
 * dropped. The previous value can be shown while the next one is loading. A failure is a value. The last few
 * answers are kept by key.
 */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { type Loaded, sentence, shown } from "../base/loaded";
import type { Activity } from "./activity";

const KEPT = 32;

export interface Resource<T> {
  /** Undefined when the key is. */
  readonly loaded: ReadonlySignal<Loaded<T> | undefined>;
  stop(): void;
}

const NEVER = signal(0);

/**
 * An undefined `key` requests nothing; keys are equal when their JSON is. When `again` changes, a failed
 * request is repeated.
 */
export function resource<K, T>(
  key: ReadonlySignal<K | undefined>,
  load: (key: K, signal: AbortSignal) => Promise<T>,
  activity: Activity,
  again: ReadonlySignal<unknown> = NEVER,
): Resource<T> {
  const loaded = signal<Loaded<T> | undefined>(undefined);
  const kept = new Map<string, T>();
  let requested: string | undefined;
  let request = new AbortController();

  async function fetchFor(newest: K, name: string): Promise<void> {
    request = new AbortController();
    const mine = request.signal;
    try {
      const value = await activity.track(load(newest, mine));
      keep(kept, name, value);
      if (!mine.aborted) loaded.value = { kind: "ready", value };
    } catch (error) {
      if (!mine.aborted) loaded.value = { kind: "failed", message: sentence(error) };
    }
  }

  const stop = effect(() => {
    const newest = key.value;
    const name = newest === undefined ? undefined : JSON.stringify(newest);
    void again.value;
    if (name === requested && loaded.peek()?.kind !== "failed") return;
    requested = name;
    request.abort();
    if (newest === undefined || name === undefined) loaded.value = undefined;
    else if (kept.has(name)) loaded.value = { kind: "ready", value: kept.get(name) as T };
    else {
      loaded.value = { kind: "loading", stale: shown(loaded.peek()) };
      void fetchFor(newest, name);
    }
  });
  return {
    loaded,
    stop() {
      stop();
      request.abort();
    },
  };
}

function keep<T>(kept: Map<string, T>, name: string, value: T): void {
  kept.delete(name);
  kept.set(name, value);
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
}
