/**
 * Polls the server: for the list of runs while there is no run or the run in focus has finished, else for the
 * status of the run. A new generation refreshes the visible rows. Polling pauses while the tab is hidden. The
 * status of a finished run is not requested until the reader comes back or the list of runs changes.
 */
import { effect } from "@preact/signals";
import type { Runs, Status } from "../api/answers";
import { RouteError } from "../api/fetch";
import type { Api } from "../api/routes";
import { type RunName, runName } from "../base/ids";
import { sentence } from "../base/loaded";
import { News, type NewsDeps } from "./news";

/** Seconds between two requests for the logdir. */
const LOGDIR_EVERY = 10;

export interface PollDeps extends NewsDeps {
  readonly api: Api;
}

/** The requests, one after the other; none runs before `start` and after its end. */
export class Polling {
  readonly #deps: PollDeps;
  readonly #news: News;
  #cancel = () => {};
  /** The number of the newest request; the answers to older ones are dropped. */
  #round = 0;
  #logdirAskedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: PollDeps) {
    this.#deps = deps;
    this.#news = new News(deps);
  }

  /** Starts to poll now; returns a function that stops it. */
  start(): () => void {
    const { facts } = this.#deps;
    const stop = effect(() => {
      void facts.run.value;
      void facts.looks.value;
      if (facts.seen.value) this.#look();
      else this.#pause();
    });
    return () => {
      stop();
      this.#pause();
    };
  }

  /** Takes a status that came with another answer; one that is being requested is older, and dropped. */
  take(status: Status): void {
    this.#pause();
    this.#news.takeStatus(status);
    this.#wait(this.#round);
  }

  /** Asks now, because the reader came to the page or chose a run. */
  #look(): void {
    this.#news.look();
    this.#next();
  }

  #pause(): void {
    this.#cancel();
    this.#round++;
  }

  #next(only?: "runs"): void {
    this.#pause();
    void this.#poll(this.#round, only);
  }

  async #poll(mine: number, only?: "runs"): Promise<void> {
    try {
      await this.#ask(mine, only);
    } catch (error) {
      if (mine === this.#round) this.#deps.facts.connection.value = sentence(error);
    }
    this.#wait(mine);
  }

  /** Asks again after a while. */
  #wait(mine: number): void {
    const { seconds, only } = this.#news.nextPoll();
    if (mine === this.#round) this.#cancel = this.#deps.timer.after(seconds, () => this.#next(only));
  }

  async #ask(mine: number, only?: "runs"): Promise<void> {
    const { api, facts } = this.#deps;
    const isOver = facts.status.peek()?.finished === true;
    const areRunsDue = facts.run.peek() === undefined || isOver || this.#round % 8 === 1;
    if (areRunsDue) void this.#askLogdir();
    const isNew = areRunsDue && this.#news.takeRuns(await api.runs());
    // The runs may have brought the run to show, whose status is then being requested.
    if (mine !== this.#round) return;
    const now = facts.run.peek();
    const status = now === undefined || (only === "runs" && !isNew) ? undefined : await api.status(now);
    if (mine !== this.#round) return;
    if (facts.connection.peek() !== undefined) facts.reconnects.value = facts.reconnects.peek() + 1;
    facts.connection.value = undefined;
    if (status !== undefined && now === facts.run.peek()) this.#news.takeStatus(status);
  }

  /**
   * Requests the logdir; only once from a server without the route. Other failures show in the list of runs
   * too.
   */
  async #askLogdir(): Promise<void> {
    const { api, facts, timer } = this.#deps;
    if (timer.now() - this.#logdirAskedAt < LOGDIR_EVERY) return;
    this.#logdirAskedAt = timer.now();
    try {
      facts.logdir.value = await api.logdir();
    } catch (error) {
      if (error instanceof RouteError && error.status === 404) this.#logdirAskedAt = Number.POSITIVE_INFINITY;
    }
  }
}

/** The newest run. */
export function newestRun(runs: Runs): RunName | undefined {
  const sorted = [...runs].sort(([, a], [, b]) => b.start_time - a.start_time);
  return sorted[0] === undefined ? undefined : runName(sorted[0][0]);
}
