/**
 * A long list of which only what is seen is fetched, in pages of PAGE rows. One request is under way at a time, and the
 * next one is for what is wanted *then*: dragging the scrollbar through a million rows asks for a handful of them. The
 * pages not looked at for longest are dropped. A refresh asks again for what is seen and shows the old meanwhile.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import { sentence } from "../base/loaded";
import type { Activity } from "./activity";

export const PAGE = 256;
const KEPT_PAGES = 48;
const PAGES_A_REQUEST = 4;

export interface Ranged {
  readonly begin: number;
  readonly end: number;
  readonly total: number;
}

interface Kept<P> {
  readonly page: P;
  readonly edition: number;
}

export class Pages<P extends Ranged> {
  /** Rows of the whole list, as last heard. */
  readonly total: ReadonlySignal<number>;
  /** Rises with every page that arrives: who reads it is drawn again. */
  readonly edition: ReadonlySignal<number>;
  /** The sentence of the last request when it failed. */
  readonly failure: ReadonlySignal<string | undefined>;
  readonly #total = signal(0);
  readonly #edition = signal(0);
  readonly #failure = signal<string | undefined>(undefined);
  readonly #load: (begin: number, end: number) => Promise<P>;
  readonly #activity: Activity;
  readonly #kept = new Map<number, Kept<P>>();
  #freshSince = 0;
  #wanted = { begin: 0, end: 0 };
  #running = false;
  #stopped = false;

  constructor(load: (begin: number, end: number) => Promise<P>, activity: Activity) {
    this.#load = load;
    this.#activity = activity;
    this.total = this.#total;
    this.edition = this.#edition;
    this.failure = this.#failure;
  }

  /** Tells how long the list is now. */
  setTotal(total: number): void {
    this.#total.value = total;
    this.#run();
  }

  /** Tells which rows are seen; replaces what was told before. */
  want(begin: number, end: number): void {
    this.#wanted = { begin: Math.max(0, begin), end };
    this.#run();
  }

  /** The page that holds the row, when it is here. */
  at(row: number): P | undefined {
    const number = Math.floor(row / PAGE);
    const kept = this.#kept.get(number);
    if (kept === undefined || row >= kept.page.end) return undefined;
    this.#kept.delete(number);
    this.#kept.set(number, kept);
    return kept.page;
  }

  /** The page that holds the row, fetched when it is not here. */
  async fetchAt(row: number): Promise<P> {
    const here = this.at(row);
    if (here !== undefined) return here;
    const begin = Math.floor(row / PAGE) * PAGE;
    const asked = this.#edition.peek();
    const page = await this.#activity.track(this.#load(begin, Math.max(row + 1, this.#clip(begin + PAGE))));
    this.#keep(page, asked);
    return page;
  }

  /** The list changed: what is seen is asked for again, the rest when it is seen. */
  refresh(): void {
    this.#freshSince = this.#edition.peek() + 1;
    this.#edition.value = this.#freshSince;
    this.#run();
  }

  /** Finds out how long the list is now, where nobody tells, and refreshes. */
  async recount(): Promise<void> {
    try {
      const { total } = await this.#activity.track(this.#load(0, 0));
      if (this.#stopped) return;
      this.#failure.value = undefined;
      this.#total.value = total;
      this.refresh();
    } catch (error) {
      if (!this.#stopped) this.#failure.value = sentence(error);
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  #clip(end: number): number {
    return Math.min(end, this.#total.peek());
  }

  #run(): void {
    const range = this.#missing();
    if (this.#running || this.#stopped || range === undefined) return;
    this.#running = true;
    void this.#fetch(range.begin, range.end);
  }

  async #fetch(begin: number, end: number): Promise<void> {
    const asked = this.#edition.peek();
    try {
      const whole = await this.#activity.track(this.#load(begin, end));
      if (this.#stopped) return;
      this.#failure.value = undefined;
      this.#keep(whole, asked);
      this.#running = false;
      // An empty answer to a question for rows would be asked again for ever.
      if (whole.end > whole.begin) this.#run();
    } catch (error) {
      this.#running = false;
      if (!this.#stopped) this.#failure.value = sentence(error);
    }
  }

  /** The first run of pages that are wanted and not here, or here from before a refresh. */
  #missing(): { begin: number; end: number } | undefined {
    const last = Math.ceil(this.#clip(this.#wanted.end) / PAGE);
    const first = Math.floor(this.#wanted.begin / PAGE);
    let from = first;
    while (from < last && this.#isGood(from)) from++;
    if (from >= last) return undefined;
    let to = from + 1;
    while (to < last && to - from < PAGES_A_REQUEST && !this.#isGood(to)) to++;
    return { begin: from * PAGE, end: this.#clip(to * PAGE) };
  }

  #isGood(number: number): boolean {
    const kept = this.#kept.get(number);
    if (kept === undefined) return false;
    return kept.edition >= this.#freshSince && kept.page.end >= this.#clip((number + 1) * PAGE);
  }

  /** Keeps an answer under every page it covers, as of the edition it was asked for at; answers begin at a page. */
  #keep(answer: P, edition: number): void {
    for (let number = Math.floor(answer.begin / PAGE); number * PAGE < answer.end; number++) {
      this.#kept.delete(number);
      this.#kept.set(number, { page: answer, edition });
    }
    for (const number of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_PAGES) break;
      this.#kept.delete(number);
    }
    this.#edition.value = this.#edition.peek() + 1;
  }
}
