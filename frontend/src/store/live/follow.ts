/** Follows the programs that run: one request after the other, only while the tab is seen. */
import { batch, effect, untracked } from "@preact/signals";
import { RouteError } from "../../api/fetch";
import type { LiveProgram, LivePrograms, Pause, ProgramState } from "../../api/live";
import type { Api } from "../../api/routes";
import type { ProgramId } from "../../base/ids";
import { sentence } from "../../base/loaded";
import { ended, merged, situationOf } from "../../model/live/program";
import type { Timer } from "../common/activity";
import type { RunFacts } from "../run/run";
import type { LiveDerived, LiveFacts, Toast } from "./facts";

/** Seconds before the first new request after a failure, and the longest. */
const [FIRST_S, LONGEST_S] = [1, 16];

export interface FollowDeps {
  readonly api: Pick<Api, "livePrograms">;
  readonly seen: RunFacts["seen"];
  readonly timer: Timer;
  readonly facts: LiveFacts;
  readonly derived: LiveDerived;
}

/** Begins to follow; returns a function that ends it. */
export function followPrograms(deps: FollowDeps): () => void {
  const following = new Following(deps);
  const stop = effect(() => {
    if (deps.seen.value) following.begin();
    else following.pause();
  });
  return () => {
    stop();
    following.pause();
  };
}

/** The requests; none runs before `begin` and after `pause`. */
class Following {
  readonly #deps: FollowDeps;
  #request: AbortController | undefined;
  #cancel = () => {};

  constructor(deps: FollowDeps) {
    this.#deps = deps;
  }

  begin(): void {
    this.pause();
    this.#request = new AbortController();
    void this.#follow(this.#request.signal, undefined, FIRST_S);
  }

  pause(): void {
    this.#request?.abort();
    this.#cancel();
  }

  async #follow(mine: AbortSignal, since: number | undefined, patience: number): Promise<void> {
    const { api, facts, timer } = this.#deps;
    try {
      const answer = await api.livePrograms(since, mine);
      if (mine.aborted) return;
      takePrograms(this.#deps, answer);
      const next = () => void this.#follow(mine, answer.version, FIRST_S);
      // A server that does not wait must not be asked without a pause.
      if (since === answer.version) this.#cancel = timer.after(FIRST_S, next);
      else next();
    } catch (error) {
      // A server without the route has no programs to show, now or later.
      if (mine.aborted || (error instanceof RouteError && error.status === 404)) return;
      facts.connection.value = sentence(error);
      // The server may be another one that counts its versions anew.
      const next = () => void this.#follow(mine, undefined, Math.min(2 * patience, LONGEST_S));
      this.#cancel = timer.after(patience, next);
    }
  }
}

/** Takes an answer; a program in focus that is not in it any more has ended. */
export function takePrograms({ facts, derived }: FollowDeps, answer: LivePrograms): void {
  const before = derived.program.peek();
  const programs = merged(derived.programs.peek(), answer.programs);
  batch(() => {
    facts.connection.value = undefined;
    facts.answer.value = { ...answer, programs };
    if (isElsewhere(before, derived.program.peek())) facts.refusal.value = undefined;
    if (before !== undefined) facts.gone.value = goneOf(before, programs, facts.gone.peek());
  });
}

/** Whether the program has gone on, so that an earlier refusal is no news any more. */
function isElsewhere(before: LiveProgram | undefined, now: LiveProgram | undefined): boolean {
  const [was, is] = [before?.state, now?.state];
  return was?.phase !== is?.phase || was?.pause?.number !== is?.pause?.number;
}

/** The program that has ended and that is shown until the reader closes it or another one runs. */
function goneOf(
  before: LiveProgram,
  programs: readonly LiveProgram[],
  gone: LiveProgram | undefined,
): LiveProgram | undefined {
  if (programs.some(({ id }) => id === before.id)) return undefined;
  const isFresh = programs.some((program) => situationOf(program) !== "ended");
  if (isFresh) return undefined;
  return gone ?? ended(before);
}

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
