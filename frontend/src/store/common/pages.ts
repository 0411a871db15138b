/**
 * A long list that is fetched in pages of PAGE rows, and only where it is visible. One request runs at a
 * time, and the next one is for the rows that are visible *then*: dragging the scrollbar through a million
 * rows fetches a few pages. The least recently used pages are dropped. A refresh fetches the visible pages
 * again and shows the old ones until the new ones arrive.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import { sentence } from "../../base/loaded";
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
  /** The length of the whole list, as last known. */
  readonly total: ReadonlySignal<number>;
  /** Rises with every page that arrives; a view that reads it is drawn again. */
  readonly edition: ReadonlySignal<number>;
  /** The sentence of the last request, when it failed. */
  readonly failure: ReadonlySignal<string | undefined>;
  readonly #total = signal(0);
  readonly #edition = signal(0);
  readonly #failure = signal<string | undefined>(undefined);
  readonly #load: (begin: number, end: number) => Promise<P>;
  readonly #activity: Activity;
  readonly #kept = new Map<number, Kept<P>>();
  #freshSince = 0;
  #visible = { begin: 0, end: 0 };
  #running = false;
  #stopped = false;

  constructor(load: (begin: number, end: number) => Promise<P>, activity: Activity) {
    this.#load = load;
    this.#activity = activity;
    this.total = this.#total;
    this.edition = this.#edition;
    this.failure = this.#failure;
  }

  /** Sets the length of the list; `isFresh`: its rows may have changed, too. */
  setTotal(total: number, isFresh = false): void {
    this.#total.value = total;
    if (isFresh) this.refresh();
    else this.#run();
  }

  /** Sets the range of visible rows. */
  want(begin: number, end: number): void {
    this.#visible = { begin: Math.max(0, begin), end };
    this.#run();
  }

  /** The page with the row; undefined when it was not fetched. */
  at(row: number): P | undefined {
    const number = Math.floor(row / PAGE);
    const kept = this.#kept.get(number);
    if (kept === undefined || row >= kept.page.end) return undefined;
    this.#kept.delete(number);
    this.#kept.set(number, kept);
    return kept.page;
  }

  /** The page with the row, fetched if needed. */
  async fetchAt(row: number): Promise<P> {
    const here = this.at(row);
    if (here !== undefined) return here;
    const begin = Math.floor(row / PAGE) * PAGE;
    const edition = this.#edition.peek();
    const page = await this.#activity.track(this.#load(begin, Math.max(row + 1, this.#clip(begin + PAGE))));
    this.#keep(page, edition);
    return page;
  }

  /** Marks all pages as outdated: visible ones are fetched again now, the others when they become visible. */
  refresh(): void {
    this.#freshSince = this.#edition.peek() + 1;
    this.#edition.value = this.#freshSince;
    this.#run();
  }

  /** Asks the server for the length of the list, and refreshes. */
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
    const edition = this.#edition.peek();
    try {
      const whole = await this.#activity.track(this.#load(begin, end));
      if (this.#stopped) return;
      this.#failure.value = undefined;
      this.#keep(whole, edition);
      this.#running = false;
      // After an empty answer the same request would be repeated for ever.
      if (whole.end > whole.begin) this.#run();
    } catch (error) {
      this.#running = false;
      if (!this.#stopped) this.#failure.value = sentence(error);
    }
  }

  /** The first range of visible pages that are missing or outdated. */
  #missing(): { begin: number; end: number } | undefined {
    const last = Math.ceil(this.#clip(this.#visible.end) / PAGE);
    const first = Math.floor(this.#visible.begin / PAGE);
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

  /**
   * Keeps an answer under every page that it covers, with the edition of its request. Answers begin at a
   * page.
   */
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
