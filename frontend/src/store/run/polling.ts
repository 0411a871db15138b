/**
 * Polls the server: for the list of runs while there is no run or the run in focus has finished, else for the
 * status of the run. A new generation refreshes the visible rows. Polling pauses while the tab is hidden. The
 * status of a finished run is not requested until the reader comes back or the list of runs changes.
 */
import { batch, effect } from "@preact/signals";
import type { Runs, Status } from "../../api/answers";
import { RouteError } from "../../api/fetch";
import type { Api } from "../../api/routes";
import { sentence, shown } from "../../base/loaded";
import { nextPoll, type Poll, SILENT } from "../../model/poll";
import type { Timer } from "../common/activity";
import type { RunFacts } from "./run";

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

export interface NewsDeps {
  readonly facts: RunFacts;
  /** The lists of the run, whose rows change with its status. */
  readonly changing: {
    apply(status: Status, before: Status | undefined): void;
    retry(): void;
  };
  readonly timer: Timer;
  readonly onRuns: (runs: Runs) => void;
}

/** Turns answers into facts, and knows when something changed. */
export class News {
  readonly #deps: NewsDeps;
  #changedAt: number;
  #lookedAt: number;
  /** The time of the last change of this run while it was shown. */
  #newsAt = Number.NEGATIVE_INFINITY;

  constructor(deps: NewsDeps) {
    this.#deps = deps;
    this.#changedAt = this.#lookedAt = deps.timer.now();
  }

  look(): void {
    this.#lookedAt = this.#deps.timer.now();
  }

  /** Takes the runs; returns whether the list changed or a run was recorded anew. */
  takeRuns(runs: Runs): boolean {
    const { facts, onRuns } = this.#deps;
    const known = shown(facts.runs.peek());
    const isNew = known === undefined || runsText(known) !== runsText(runs);
    // Verdicts, sizes and ages change without a new run.
    if (known === undefined || JSON.stringify([...known]) !== JSON.stringify([...runs]))
      facts.runs.value = { kind: "ready", value: runs };
    if (isNew) {
      // It may be the run in focus, whose status at the server may be old for a while.
      this.look();
    }
    onRuns(runs);
    return isNew;
  }

  takeStatus(status: Status): void {
    const { facts, changing, timer } = this.#deps;
    const before = facts.status.peek();
    this.#noteSilence(before, status);
    if (before !== undefined && isSameRead(before, status)) {
      if (before.finished !== status.finished) facts.status.value = status;
      changing.retry();
      return;
    }
    this.#changedAt = timer.now();
    batch(() => {
      facts.status.value = status;
      changing.apply(status, before);
    });
  }

  #noteSilence(before: Status | undefined, status: Status): void {
    const { facts, timer } = this.#deps;
    if (before === undefined) this.#newsAt = Number.NEGATIVE_INFINITY;
    else if (before.generation !== status.generation) this.#newsAt = timer.now();
    facts.silent.value = timer.now() - Math.max(this.#newsAt, status.end_time ?? 0) > SILENT;
  }

  nextPoll(): Poll {
    const { facts, timer } = this.#deps;
    const status = facts.status.peek();
    return nextPoll({
      finished: facts.run.peek() === undefined ? undefined : status?.finished,
      loading: status?.loading !== undefined,
      failed: facts.connection.peek() !== undefined,
      silent: timer.now() - this.#changedAt,
      looked: timer.now() - this.#lookedAt,
    });
  }
}

/** Whether the server read nothing new between two answers. */
function isSameRead(before: Status, status: Status): boolean {
  return before.generation === status.generation && before.loading?.bytes_done === status.loading?.bytes_done;
}

function runsText(runs: Runs): string {
  return JSON.stringify([...runs].map(([name, { start_time }]) => [name, start_time]));
}
