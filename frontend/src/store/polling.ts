/**
 * Asks now and then what is new: the runs while there is none or the one looked at is over, else its status. A new
 * generation refreshes what is seen. Rests while the tab is hidden; of a run that is over nothing is asked until the reader
 * comes back or the list of runs changes.
 */
import { batch, effect, type ReadonlySignal } from "@preact/signals";
import type { Runs, Status } from "../api/answers";
import { RouteError } from "../api/fetch";
import type { Api } from "../api/routes";
import { type RunName, runName } from "../base/ids";
import { sentence, shown } from "../base/loaded";
import { nextPoll, type Poll, SILENT } from "../model/poll";
import type { Facts } from "./facts";
import { type Lists, pagesOf } from "./lists";

export interface Timer {
  now(): number;
  /** Calls once after the seconds; returns how to prevent it. */
  after(seconds: number, act: () => void): () => void;
}

export const browserTimer: Timer = {
  now: () => Date.now() / 1000,
  after(seconds, act) {
    const id = setTimeout(act, seconds * 1000);
    return () => clearTimeout(id);
  },
};

/** Seconds. */
const LOGDIR_EVERY = 10;

export interface PollDeps {
  readonly api: Api;
  readonly facts: Facts;
  readonly lists: ReadonlySignal<Lists | undefined>;
  readonly timer: Timer;
  readonly onRuns: (runs: Runs) => void;
}

/** Starts at once; returns how to stop. */
export function startPolling({ api, facts, lists, timer, onRuns }: PollDeps): () => void {
  let cancel = () => {};
  let changedAt = timer.now();
  let lookedAt = timer.now();
  /** When this run last changed under the reader's eyes. */
  let newsAt = Number.NEGATIVE_INFINITY;
  let round = 0;
  let logdirAskedAt = Number.NEGATIVE_INFINITY;

  async function ask(mine: number, only?: "runs"): Promise<void> {
    const run = facts.run.peek();
    try {
      const isOver = facts.status.peek()?.finished === true;
      const areRunsDue = run === undefined || isOver || round % 8 === 1;
      if (areRunsDue) void askLogdir();
      const isNew = areRunsDue && takeRuns(await api.runs());
      const now = facts.run.peek();
      const status = now === undefined || (only === "runs" && !isNew) ? undefined : await api.status(now);
      if (mine !== round) return;
      if (facts.connection.peek() !== undefined) facts.reconnects.value = facts.reconnects.peek() + 1;
      facts.connection.value = undefined;
      if (status !== undefined && now === facts.run.peek()) takeStatus(status);
    } catch (error) {
      if (mine === round) facts.connection.value = sentence(error);
    }
    const { seconds, only: rest } = following();
    if (mine === round) cancel = timer.after(seconds, () => next(rest));
  }

  /** Not more often than it changes, and of a server without the route only once. What else fails, fails for the runs too. */
  async function askLogdir(): Promise<void> {
    if (timer.now() - logdirAskedAt < LOGDIR_EVERY) return;
    logdirAskedAt = timer.now();
    try {
      facts.logdir.value = await api.logdir();
    } catch (error) {
      if (error instanceof RouteError && error.status === 404) logdirAskedAt = Number.POSITIVE_INFINITY;
    }
  }

  /** Whether there are other ones, or one began anew. */
  function takeRuns(runs: Runs): boolean {
    const known = shown(facts.runs.peek());
    const isNew = known === undefined || runsText(known) !== runsText(runs);
    if (isNew) {
      facts.runs.value = { kind: "ready", value: runs };
      // The run on screen may be the one: what the server says of it may be old for a while.
      lookedAt = timer.now();
    }
    onRuns(runs);
    return isNew;
  }

  function takeStatus(status: Status): void {
    const before = facts.status.peek();
    noteSilence(before, status);
    if (
      before?.generation === status.generation &&
      before.loading?.bytes_done === status.loading?.bytes_done
    ) {
      if (before.finished !== status.finished) facts.status.value = status;
      retryFailed(lists.peek());
      return;
    }
    changedAt = timer.now();
    batch(() => {
      facts.status.value = status;
      applyStatus(lists.peek(), status, before?.generation !== status.generation);
    });
  }

  function noteSilence(before: Status | undefined, status: Status): void {
    if (before === undefined) newsAt = Number.NEGATIVE_INFINITY;
    else if (before.generation !== status.generation) newsAt = timer.now();
    facts.silent.value = timer.now() - Math.max(newsAt, status.end_time ?? 0) > SILENT;
  }

  function following(): Poll {
    const status = facts.status.peek();
    return nextPoll({
      finished: facts.run.peek() === undefined ? undefined : status?.finished,
      loading: status?.loading !== undefined,
      failed: facts.connection.peek() !== undefined,
      silent: timer.now() - changedAt,
      looked: timer.now() - lookedAt,
    });
  }

  function next(only?: "runs"): void {
    cancel();
    round++;
    void ask(round, only);
  }

  const stop = effect(() => {
    void facts.run.value;
    void facts.looks.value;
    lookedAt = timer.now();
    if (facts.seen.value) next();
    else {
      cancel();
      round++;
    }
  });
  return () => {
    stop();
    cancel();
    round++;
  };
}

function runsText(runs: Runs): string {
  return JSON.stringify([...runs].map(([name, { start_time }]) => [name, start_time]));
}

/** Hands the new lengths to the lists, and makes them ask again for what is seen. */
export function applyStatus(lists: Lists | undefined, status: Status, changed: boolean): void {
  if (lists === undefined) return;
  lists.executions.setTotal(status.num_executions);
  lists.graphExecutions.setTotal(status.num_graph_executions);
  lists.badGraphExecutions.setTotal(status.num_bad_graph_executions);
  lists.alerts.pages.setTotal(status.num_alerts);
  if (!changed) return;
  for (const pages of pagesOf(lists)) pages.refresh();
}

function retryFailed(lists: Lists | undefined): void {
  if (lists === undefined) return;
  for (const pages of pagesOf(lists)) if (pages.failure.peek() !== undefined) pages.refresh();
}

/** The newest run. */
export function newestRun(runs: Runs): RunName | undefined {
  const sorted = [...runs].sort(([, a], [, b]) => b.start_time - a.start_time);
  return sorted[0] === undefined ? undefined : runName(sorted[0][0]);
}
