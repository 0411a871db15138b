/** What the answers to polling change: facts, the lengths of the lists, and the time of the next request. */
import { batch, type ReadonlySignal } from "@preact/signals";
import type { Runs, Status } from "../api/answers";
import { shown } from "../base/loaded";
import { nextPoll, type Poll, SILENT } from "../model/poll";
import { executionsOf } from "../model/status";
import type { Facts } from "./facts";
import { type Lists, pagesOf } from "./lists";
import type { Timer } from "./timer";

export interface NewsDeps {
  readonly facts: Facts;
  readonly lists: ReadonlySignal<Lists | undefined>;
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
    if (isNew) {
      facts.runs.value = { kind: "ready", value: runs };
      // It may be the run in focus, whose status at the server may be old for a while.
      this.look();
    }
    onRuns(runs);
    return isNew;
  }

  takeStatus(status: Status): void {
    const { facts, lists, timer } = this.#deps;
    const before = facts.status.peek();
    this.#noteSilence(before, status);
    if (before !== undefined && isSameRead(before, status)) {
      if (before.finished !== status.finished) facts.status.value = status;
      retryFailed(lists.peek());
      return;
    }
    this.#changedAt = timer.now();
    batch(() => {
      facts.status.value = status;
      applyStatus(lists.peek(), status, before);
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

/** Sets the lengths of the lists, and refreshes those that may have changed since another status. */
export function applyStatus(lists: Lists | undefined, status: Status, before: Status | undefined): void {
  if (lists === undefined) return;
  const { executions, graphExecutions, badGraphExecutions, alerts } = lists;
  const isChanged = before?.generation !== status.generation;
  const areMore = before === undefined || executionsOf(before) !== executionsOf(status);
  executions.setTotal(status.num_executions, isChanged && areMore);
  graphExecutions.setTotal(status.num_graph_executions, isChanged);
  badGraphExecutions.setTotal(status.num_bad_graph_executions, isChanged);
  alerts.pages.setTotal(status.num_alerts, isChanged);
}

function retryFailed(lists: Lists | undefined): void {
  if (lists === undefined) return;
  for (const pages of pagesOf(lists)) if (pages.failure.peek() !== undefined) pages.refresh();
}
