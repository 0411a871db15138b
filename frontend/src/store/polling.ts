/**
 * Polls the server: for the list of runs while there is no run or the run in focus has finished, else for the
 * status of the run. A new generation refreshes the visible rows. Polling pauses while the tab is hidden. The
 * status of a finished run is not requested until the reader comes back or the list of runs changes.
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
  /** Calls once after the seconds; returns a function that cancels the call. */
  after(seconds: number, act: () => void): () => void;
}

export const browserTimer: Timer = {
  now: () => Date.now() / 1000,
  after(seconds, act) {
    const id = setTimeout(act, seconds * 1000);
    return () => clearTimeout(id);
  },
};

/** Seconds between two requests for the logdir. */
const LOGDIR_EVERY = 10;

export interface PollDeps {
  readonly api: Api;
  readonly facts: Facts;
  readonly lists: ReadonlySignal<Lists | undefined>;
  readonly timer: Timer;
  readonly onRuns: (runs: Runs) => void;
}

/** Starts to poll now; returns a function that stops it. */
export function startPolling({ api, facts, lists, timer, onRuns }: PollDeps): () => void {
  let cancel = () => {};
  let changedAt = timer.now();
  let lookedAt = timer.now();
  /** The time of the last change of this run while it was shown. */
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

  /**
   * Requests the logdir; only once from a server without the route. Other failures show in the list of runs
   * too.
   */
  async function askLogdir(): Promise<void> {
    if (timer.now() - logdirAskedAt < LOGDIR_EVERY) return;
    logdirAskedAt = timer.now();
    try {
      facts.logdir.value = await api.logdir();
    } catch (error) {
      if (error instanceof RouteError && error.status === 404) logdirAskedAt = Number.POSITIVE_INFINITY;
    }
  }

  /** Takes the runs; returns whether the list changed or a run was recorded anew. */
  function takeRuns(runs: Runs): boolean {
    const known = shown(facts.runs.peek());
    const isNew = known === undefined || runsText(known) !== runsText(runs);
    if (isNew) {
      facts.runs.value = { kind: "ready", value: runs };
      // It may be the run in focus, whose status at the server may be old for a while.
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

/** Sets the lengths of the lists, and refreshes them after a change. */
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
