/**
 * Asks now and then what is new: the runs while there is none or the one looked at is over, else its status. A new
 * generation refreshes what is seen. Rests while the tab is hidden, and when the run is over until the reader comes back.
 */
import { batch, effect, type ReadonlySignal } from "@preact/signals";
import type { Runs, Status } from "../api/answers";
import type { Api } from "../api/routes";
import { type RunName, runName } from "../base/ids";
import { sentence, shown } from "../base/loaded";
import { pollDelay } from "../model/poll";
import type { Facts } from "./facts";
import type { Lists } from "./lists";

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
  let round = 0;

  async function ask(mine: number): Promise<void> {
    const run = facts.run.peek();
    try {
      const isOver = facts.status.peek()?.finished === true;
      if (run === undefined || isOver || round % 8 === 1) takeRuns(await api.runs());
      const now = facts.run.peek();
      const status = now === undefined ? undefined : await api.status(now);
      if (mine !== round) return;
      if (facts.connection.peek() !== undefined) facts.reconnects.value = facts.reconnects.peek() + 1;
      facts.connection.value = undefined;
      if (status !== undefined && now === facts.run.peek()) takeStatus(status);
    } catch (error) {
      if (mine === round) facts.connection.value = sentence(error);
    }
    const seconds = delay();
    if (mine === round && seconds !== undefined) cancel = timer.after(seconds, next);
  }

  function takeRuns(runs: Runs): void {
    const known = shown(facts.runs.peek());
    if (known === undefined || [...known.keys()].join("\n") !== [...runs.keys()].join("\n"))
      facts.runs.value = { kind: "ready", value: runs };
    onRuns(runs);
  }

  function takeStatus(status: Status): void {
    const before = facts.status.peek();
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

  function delay(): number | undefined {
    const status = facts.status.peek();
    return pollDelay({
      finished: facts.run.peek() === undefined ? undefined : status?.finished,
      loading: status?.loading !== undefined,
      failed: facts.connection.peek() !== undefined,
      silent: timer.now() - changedAt,
      looked: timer.now() - lookedAt,
    });
  }

  function next(): void {
    cancel();
    round++;
    void ask(round);
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

/** Hands the new lengths to the lists, and makes them ask again for what is seen. */
export function applyStatus(lists: Lists | undefined, status: Status, changed: boolean): void {
  if (lists === undefined) return;
  lists.executions.setTotal(status.num_executions);
  lists.traces.setTotal(status.num_graph_executions);
  lists.badTraces.setTotal(status.num_bad_graph_executions);
  lists.alerts.setTotal(status.num_alerts);
  if (!changed) return;
  for (const pages of [lists.executions, lists.traces, lists.alerts, lists.badTraces]) pages.refresh();
}

function retryFailed(lists: Lists | undefined): void {
  if (lists === undefined) return;
  for (const pages of [lists.executions, lists.traces, lists.alerts, lists.badTraces])
    if (pages.failure.peek() !== undefined) pages.refresh();
}

/** The newest run. */
export function newestRun(runs: Runs): RunName | undefined {
  const sorted = [...runs].sort(([, a], [, b]) => b.start_time - a.start_time);
  return sorted[0] === undefined ? undefined : runName(sorted[0][0]);
}
