/** Sentences that are shown for a while: of hits, of notices of the program, and of refused commands. */
import { effect, untracked } from "@preact/signals";
import type { ProgramState } from "../../api/live";
import type { Timer } from "../timer";
import type { LiveDerived, LiveFacts, Toast } from "./facts";

/** Seconds that a toast stays, and the most that are shown. */
const [STAYS_S, MOST] = [8, 3];

export interface Toasts {
  show(sentence: string, kind: Toast["kind"]): void;
  dismiss(number: number): void;
}

export function createToasts({ toasts }: Pick<LiveFacts, "toasts">, timer: Timer): Toasts {
  let last = 0;
  const dismiss = (number: number) => {
    toasts.value = toasts.peek().filter((toast) => toast.number !== number);
  };
  return {
    show(sentence, kind) {
      const number = ++last;
      // One hit is at hand at a time, so a newer one takes the place of the older.
      const others = toasts.peek().filter((toast) => kind !== "hit" || toast.kind !== "hit");
      toasts.value = [...others, { number, sentence, kind }].slice(-MOST);
      timer.after(STAYS_S, () => dismiss(number));
    },
    dismiss,
  };
}

/** Shows a toast for each new hit and each new notice of the program in focus; returns a function that ends it. */
export function announce({ program }: LiveDerived, toasts: Toasts): () => void {
  const hits = new Newest<string>();
  const notices = new Newest<string>();
  return effect(() => {
    const now = program.value;
    if (now?.state === undefined) return;
    const { id, state } = now;
    untracked(() => {
      const { pause } = state;
      if (pause !== undefined && hits.isNew(id, pause.number)) {
        const words = toastOf(state);
        if (words !== undefined) toasts.show(words, "hit");
      }
      const fresh = state.notices.filter(({ number }) => number > notices.of(id));
      const isFirst = notices.of(id) === UNSEEN;
      notices.isNew(id, state.notices.at(-1)?.number ?? 0);
      // Older notices than the page are not news.
      if (!isFirst) for (const { sentence } of fresh) toasts.show(sentence, "notice");
    });
  });
}

const UNSEEN = -1;

/** The highest number of each program so far. */
class Newest<Id> {
  readonly #numbers = new Map<Id, number>();

  of(id: Id): number {
    return this.#numbers.get(id) ?? UNSEEN;
  }

  /** Takes a number; whether it is higher than those before. */
  isNew(id: Id, number: number): boolean {
    if (number <= this.of(id)) return false;
    this.#numbers.set(id, number);
    return true;
  }
}

/** The sentence of a pause that the reader did not order by a step; undefined for a step. */
function toastOf({ pause }: ProgramState): string | undefined {
  if (pause === undefined || pause.sentence === "") return undefined;
  const isOrdered =
    pause.reason === "step" || pause.reason === "before_call" || pause.reason === "after_call";
  return isOrdered ? undefined : pause.sentence;
}
