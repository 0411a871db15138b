/** The list of all runs: its search, its order, the runs that are chosen to compare, and the note on a run. */
import { batch, computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import type { RunVerdict } from "../../api/answers";
import type { LiveProgram } from "../../api/live";
import { exportAddress, type ListName, reportAddress } from "../../api/routes";
import type { RunName } from "../../base/ids";
import { type Loaded, sentence, shown } from "../../base/loaded";
import { situationOf } from "../../model/live/program";
import {
  chosenAfter,
  FIRST_ORDER,
  foundRows,
  pageTitle,
  pairOf,
  type RunColumn,
  type RunOrder,
  runRows,
  sortedRows,
  titleOf,
  turned,
} from "../../model/runs";
import type { Timer } from "../common/activity";
import { setter } from "../common/activity";
import { both, createByKey, type Deps } from "../run/run";

/** Seconds after which the ages of an open list are drawn again. */
const AGING = 10;

export interface RunsDeps extends Deps {
  readonly timer: Timer;
  readonly programs: ReadonlySignal<readonly LiveProgram[]>;
  /** The verdict on the run in focus. */
  readonly verdict: ReadonlySignal<Loaded<RunVerdict> | undefined>;
  selectRun(run: RunName): void;
  compareWith(run: RunName): void;
}

export function createRuns(deps: RunsDeps) {
  const own = createRunListFacts(deps.timer);
  return {
    runList: {
      ...own,
      ...createRows(deps, own),
      ...createNote(deps, own),
      ...createOpening(deps, own),
      ...createRunListVerbs(deps, own),
      reportAddress,
      /** The address of a file with all rows and columns of a list. */
      exportAddress: (run: RunName, list: ListName, format: "csv" | "parquet") =>
        exportAddress(run, list, undefined, format, {}),
    },
    title: createPageTitle(deps),
  };
}

type RunListFacts = ReturnType<typeof createRunListFacts>;

function createRunListFacts(timer: Timer) {
  return {
    /** Whether the list is open; a closed one requests nothing. */
    isOpen: signal(false),
    /** What the reader searches. */
    text: signal(""),
    order: signal<RunOrder>(FIRST_ORDER),
    /** The runs that are chosen to compare, at most two. */
    chosen: signal<readonly RunName[]>([]),
    /** Seconds since the epoch, for the ages. */
    now: signal(timer.now()),
    /** Notes that are written and not saved, by run. */
    drafts: signal<ReadonlyMap<RunName, string>>(new Map()),
    /** Rises when a note was saved. */
    edition: signal(0),
    /** Why the last note was not saved. */
    failure: signal<string | undefined>(undefined),
  };
}

function createRows({ facts, programs }: RunsDeps, { text, order, chosen, now }: RunListFacts) {
  const all = computed(() => {
    const running = programs.value.map((one) => ({ run: one.run, situation: situationOf(one) }));
    return runRows(shown(facts.runs.value), running, now.value);
  });
  return {
    all,
    /** The rows that are found, in their order. */
    rows: computed(() => sortedRows(foundRows(all.value, text.value), order.value)),
    /** The two runs that *Compare* compares. */
    pair: computed(() => pairOf(chosen.value, facts.run.value)),
  };
}

function createNote(deps: RunsDeps, { isOpen, edition, failure, drafts }: RunListFacts) {
  const { api, facts, activity } = deps;
  return {
    /** The note on the run in focus. */
    note: createByKey(deps)(
      () => both(isOpen.value ? facts.run.value : undefined, edition.value),
      ([run], abort) => api.note(run, abort),
      1,
    ),
    /** Keeps a note that is being written, also while the list is closed. */
    draft(run: RunName, note: string): void {
      drafts.value = new Map([...drafts.peek(), [run, note]]);
    },
    /** Saves the note on a run, in place of the one that the reader has seen. */
    async write(run: RunName, note: string, insteadOf: string): Promise<void> {
      try {
        await activity.track(api.writeNote(run, note, insteadOf));
        batch(() => {
          failure.value = undefined;
          edition.value++;
          // What was written meanwhile is another draft.
          if (drafts.peek().get(run) === note)
            drafts.value = new Map([...drafts.peek()].filter(([name]) => name !== run));
        });
      } catch (error) {
        batch(() => {
          failure.value = sentence(error);
          // Somebody else may have written one.
          edition.value++;
        });
      }
    },
  };
}

function createOpening({ timer }: RunsDeps, { isOpen, now, failure }: RunListFacts) {
  const age = () => {
    now.value = timer.now();
  };
  return {
    /** Opens the list; returns a function that closes it. */
    open(): () => void {
      batch(() => {
        isOpen.value = true;
        failure.value = undefined;
        age();
      });
      const stop = effect(() => {
        void now.value;
        return timer.after(AGING, age);
      });
      return () => {
        stop();
        isOpen.value = false;
      };
    },
  };
}

function createRunListVerbs({ facts, selectRun, compareWith }: RunsDeps, own: RunListFacts) {
  const { chosen, order, text } = own;
  return {
    search: setter(text),
    sortBy(column: RunColumn): void {
      order.value = turned(order.peek(), column);
    },
    choose(run: RunName): void {
      chosen.value = chosenAfter(chosen.peek(), run);
    },
    compare([first, second]: readonly [RunName, RunName]): void {
      if (facts.run.peek() !== first) selectRun(first);
      compareWith(second);
      chosen.value = [];
    },
  };
}

/** The title of the page, which follows the run in focus and its verdict. */
function createPageTitle({ facts, verdict }: RunsDeps): ReadonlySignal<string> {
  return computed(() => {
    const run = facts.run.value;
    if (run === undefined) return pageTitle(undefined, undefined);
    const runs = shown(facts.runs.value);
    return pageTitle(titleOf(runs, run), shown(verdict.value) ?? runs?.get(run)?.verdict);
  });
}
