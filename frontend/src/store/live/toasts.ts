/** Sentences that are shown for a while: of hits, of notices of the program, and of refused commands. */
import { effect, untracked } from "@preact/signals";
import type { Pause, ProgramState } from "../../api/live";
import type { ProgramId } from "../../base/ids";
import type { Timer } from "../timer";
import type { LiveDerived, LiveFacts, Toast } from "./facts";

/** Seconds that a toast stays, and the most that are shown. */
const [STAYS_S, MOST] = [8, 3];

export interface Toasts {
  show(sentence: string, kind: Toast["kind"]): void;
  dismiss(number: number): void;
  /** Ends what says that the program is at a hit. */
  dismissHit(): void;
}

export function createToasts({ toasts }: Pick<LiveFacts, "toasts">, timer: Timer): Toasts {
  let last = 0;
  const dismiss = (number: number) => {
    toasts.value = toasts.peek().filter((toast) => toast.number !== number);
  };
  return {
    show(sentence, kind) {
      const number = ++last;
      toasts.value = [...toasts.peek(), { number, sentence, kind }].slice(-MOST);
      timer.after(STAYS_S, () => dismiss(number));
    },
    dismiss,
    dismissHit() {
      const others = toasts.peek().filter(({ kind }) => kind !== "hit");
      if (others.length < toasts.peek().length) toasts.value = others;
    },
  };
}

/** Shows a toast for each new hit and each new notice of the program in focus; returns a function that ends it. */
export function announce({ program }: LiveDerived, toasts: Toasts): () => void {
  const tellers = [hitTeller(toasts), noticeTeller(toasts)];
  return effect(() => {
    const now = program.value;
    if (now?.state === undefined) return;
    const { id, state } = now;
    untracked(() => {
      for (const tell of tellers) tell(id, state);
    });
  });
}

type Teller = (id: ProgramId, state: ProgramState) => void;

/** Tells of a hit until the program goes on or another one is in focus. */
function hitTeller(toasts: Toasts): Teller {
  const hits = new Newest<ProgramId>();
  let shown: string | undefined;
  return (id, { pause }) => {
    const now = pause && `${pause.number} of ${id}`;
    if (now !== shown) toasts.dismissHit();
    if (pause === undefined || !hits.isNew(id, pause.number)) return;
    const words = toastOf(pause);
    if (words === undefined) return;
    toasts.show(words, "hit");
    shown = now;
  };
}

function noticeTeller(toasts: Toasts): Teller {
  const told = new Newest<ProgramId>();
  return (id, { notices }) => {
    const fresh = notices.filter(({ number }) => number > told.of(id));
    const isFirst = told.of(id) === UNSEEN;
    told.isNew(id, notices.at(-1)?.number ?? 0);
    // Older notices than the page are not news.
    if (!isFirst) for (const { sentence } of fresh) toasts.show(sentence, "notice");
  };
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
function toastOf(pause: Pause): string | undefined {
  if (pause.sentence === "") return undefined;
  const isOrdered =
    pause.reason === "step" || pause.reason === "before_call" || pause.reason === "after_call";
  return isOrdered ? undefined : pause.sentence;
}
