/**
 * Follows the programs that run: a request that the server answers when something has changed, one after the
 * other, only while the tab is seen. After a failure it asks again, later each time.
 */
import { batch, effect } from "@preact/signals";
import { RouteError } from "../../api/fetch";
import type { LiveProgram, LivePrograms } from "../../api/live";
import type { Api } from "../../api/routes";
import { sentence } from "../../base/loaded";
import { ended, merged, situationOf } from "../../model/live/program";
import type { Facts } from "../facts";
import type { Timer } from "../timer";
import type { LiveDerived, LiveFacts } from "./facts";

/** Seconds before the first new request after a failure, and the longest. */
const [FIRST_S, LONGEST_S] = [1, 16];

export interface FollowDeps {
  readonly api: Pick<Api, "livePrograms">;
  readonly seen: Facts["seen"];
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
