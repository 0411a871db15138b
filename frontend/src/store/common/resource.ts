/**
 * An answer of the server by its key. The newest key wins: an older request is aborted and its answer is
 * dropped. The previous value can be shown while the next one is loading. A failure is a value. The last few
 * answers are kept by key.
 *
 *     const { loaded, stop } = resource(graphId, (id, signal) => api.graph(run, id, signal), activity);
 *     loaded.value; // { kind: "loading", … }, later { kind: "ready", value }
 */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { type Loaded, sentence, shown } from "../../base/loaded";
import type { Activity } from "./activity";

const KEPT = 32;

export interface Resource<T> {
  /** Undefined when the key is. */
  readonly loaded: ReadonlySignal<Loaded<T> | undefined>;
  stop(): void;
}

const NEVER = signal(0);

/**
 * An undefined `key` requests nothing; keys are equal when their JSON is. An answer of `load` that is no
 * promise is there at once. When `again` changes, a failed request is repeated. `most` is the number of
 * answers that are kept.
 */
export function resource<K, T>(
  key: ReadonlySignal<K | undefined>,
  load: Load<K, T>,
  activity: Activity,
  again: ReadonlySignal<unknown> = NEVER,
  most = KEPT,
): Resource<T> {
  const answers = new Answers(load, activity, most);
  const stop = effect(() => {
    const newest = key.value;
    void again.value;
    answers.want(newest);
  });
  return {
    loaded: answers.loaded,
    stop() {
      stop();
      answers.stop();
    },
  };
}

export type Load<K, T> = (key: K, signal: AbortSignal) => Promise<T> | T;

/** The answer for the newest key, and the last few answers; lives until `stop`. */
class Answers<K, T> {
  readonly loaded = signal<Loaded<T> | undefined>(undefined);
  readonly #load: Load<K, T>;
  readonly #activity: Activity;
  readonly #most: number;
  readonly #kept = new Map<string, T>();
  #requested: string | undefined;
  #request = new AbortController();

  constructor(load: Load<K, T>, activity: Activity, most: number) {
    this.#load = load;
    this.#activity = activity;
    this.#most = most;
  }

  /** Takes the newest key; one that was answered, or is being requested, is not requested again. */
  want(key: K | undefined): void {
    const name = key === undefined ? undefined : JSON.stringify(key);
    if (name === this.#requested && this.loaded.peek()?.kind !== "failed") return;
    this.#requested = name;
    this.stop();
    if (key === undefined || name === undefined) this.loaded.value = undefined;
    else if (this.#kept.has(name)) this.loaded.value = { kind: "ready", value: this.#kept.get(name) as T };
    else void this.#fetch(key, name);
  }

  /** Drops the answer to a request that is running. */
  stop(): void {
    this.#request.abort();
  }

  async #fetch(key: K, name: string): Promise<void> {
    this.#request = new AbortController();
    const mine = this.#request.signal;
    try {
      const value = this.#load(key, mine);
      if (!(value instanceof Promise)) return this.#take(name, value, mine);
      this.loaded.value = { kind: "loading", stale: shown(this.loaded.peek()) };
      this.#take(name, await this.#activity.track(value), mine);
    } catch (error) {
      if (!mine.aborted) this.loaded.value = { kind: "failed", message: sentence(error) };
    }
  }

  #take(name: string, value: T, mine: AbortSignal): void {
    keep(this.#kept, name, value, this.#most);
    if (!mine.aborted) this.loaded.value = { kind: "ready", value };
  }
}

function keep<T>(kept: Map<string, T>, name: string, value: T, most: number): void {
  kept.delete(name);
  kept.set(name, value);
  const oldest = kept.keys().next().value;
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}
