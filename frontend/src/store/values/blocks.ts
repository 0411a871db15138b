/**
 * Blocks of something large, of which only what is seen is fetched. A few requests run at a time, for the
 * blocks that are wanted *then*; requests for blocks that are not wanted any more are aborted. The least
 * recently used blocks are dropped. A block that failed is not requested again until others are wanted.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import { sentence } from "../../base/loaded";
import type { Activity } from "../common/activity";

const AT_A_TIME = 3;

/** A part that can be fetched; its key is unlike that of other parts. */
export interface Keyed {
  readonly key: string;
}

export class Blocks<B extends Keyed, T> {
  /** Rises with each block that arrives; a view that reads it is drawn again. */
  readonly edition: ReadonlySignal<number>;
  /** The sentence of the last request, when it failed. */
  readonly failure: ReadonlySignal<string | undefined>;
  readonly #edition = signal(0);
  readonly #failure = signal<string | undefined>(undefined);
  readonly #load: (block: B, signal: AbortSignal) => Promise<T>;
  readonly #activity: Activity;
  readonly #most: number;
  readonly #kept = new Map<string, T>();
  readonly #running = new Map<string, AbortController>();
  #failed = new Set<string>();
  #wanted: readonly B[] = [];
  #stopped = false;

  /** `most` is the number of blocks that are kept. */
  constructor(load: (block: B, signal: AbortSignal) => Promise<T>, activity: Activity, most: number) {
    this.#load = load;
    this.#activity = activity;
    this.#most = most;
    this.edition = this.#edition;
    this.failure = this.#failure;
  }

  /** A block that was fetched. */
  at(key: string): T | undefined {
    const block = this.#kept.get(key);
    if (block === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, block);
    return block;
  }

  /** Sets the blocks that are seen, the most important first. */
  want(blocks: readonly B[]): void {
    const wanted = blocks.slice(0, this.#most);
    const keys = new Set(wanted.map(({ key }) => key));
    if (wanted.some(({ key }, i) => key !== this.#wanted[i]?.key)) {
      this.#failed = new Set();
      this.#failure.value = undefined;
    }
    this.#wanted = wanted;
    for (const [key, request] of this.#running) if (!keys.has(key)) request.abort();
    this.#run();
  }

  stop(): void {
    this.#stopped = true;
    for (const request of this.#running.values()) request.abort();
  }

  #run(): void {
    for (const block of this.#wanted) {
      if (this.#stopped || this.#running.size >= AT_A_TIME) return;
      const isThere =
        this.#kept.has(block.key) || this.#running.has(block.key) || this.#failed.has(block.key);
      if (!isThere) void this.#fetch(block);
    }
  }

  async #fetch(block: B): Promise<void> {
    const request = new AbortController();
    this.#running.set(block.key, request);
    try {
      const part = await this.#activity.track(this.#load(block, request.signal));
      if (this.#stopped) return;
      this.#failure.value = undefined;
      this.#keep(block.key, part);
    } catch (error) {
      if (this.#stopped) return;
      if (!request.signal.aborted) {
        this.#failed.add(block.key);
        this.#failure.value = sentence(error);
      }
    } finally {
      this.#running.delete(block.key);
    }
    this.#run();
  }

  #keep(key: string, part: T): void {
    this.#kept.set(key, part);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#most) break;
      this.#kept.delete(oldest);
    }
    this.#edition.value = this.#edition.peek() + 1;
  }
}
