/** Follows what the panels of a program show: the tensors of its current call, its ops, watch expressions. */
import { batch, computed, effect, type ReadonlySignal, untracked } from "@preact/signals";
import type { ColumnPage } from "../../api/columns";
import type { Evaluation, LiveProgram, LiveTensors } from "../../api/live";
import type { Api } from "../../api/routes";
import { remembered } from "../../base/host";
import { liveTensorNumber, type ProgramId, type RunName } from "../../base/ids";
import { sentence } from "../../base/loaded";
import { listedOps } from "../../model/live/op_list";
import { situationOf } from "../../model/live/program";
import { NOTHING_SEEN, withSeen } from "../../model/live/seen_tensors";
import { extended, NO_ROWS, renewed } from "../../model/live/tensor_rows";
import { expressionsOf, keptAs } from "../../model/live/watches";
import type { Activity, Timer } from "../common/activity";
import type { RunFacts } from "../run/run";
import type { ValueFacts } from "../values/verbs";
import { NO_RESULTS, type PanelFacts } from "./facts";

/** Seconds between two requests while the program runs. */
const RUNNING_S = 0.5;
/** Tensors of a request, and the most that are listed. */
const [PAGE, MOST] = [1000, 100_000];

export interface TensorDeps {
  readonly api: Pick<Api, "liveTensors">;
  readonly facts: PanelFacts;
  readonly activity: Activity;
  readonly timer: Timer;
  /** The program to follow; undefined while nobody looks. */
  readonly wanted: () => LiveProgram | undefined;
}

/** Begins to follow; returns a function that ends it. */
export function followTensors(deps: TensorDeps): () => void {
  const following = new Following(deps);
  const stop = effect(() => {
    const program = deps.wanted();
    untracked(() => following.want(program));
  });
  return () => {
    stop();
    following.want(undefined);
  };
}

/** The requests, one after the other, for the newest state of the program. */
class Following {
  readonly #deps: TensorDeps;
  #wanted: LiveProgram | undefined;
  #isAsking = false;
  #isDue = false;
  #cancel = () => {};
  /** What of the state says that rows that are there have changed. */
  #changes = "";

  constructor(deps: TensorDeps) {
    this.#deps = deps;
  }

  want(program: LiveProgram | undefined): void {
    this.#wanted = program?.state === undefined || program.state.phase === "ended" ? undefined : program;
    this.#cancel();
    this.#isDue = this.#wanted !== undefined;
    if (this.#isDue && !this.#isAsking) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#isDue && this.#wanted !== undefined) {
      this.#isDue = false;
      const program = this.#wanted;
      this.#isFrom(program.id);
      await this.#fetch(program);
    }
    this.#isAsking = false;
    if (this.#wanted?.state?.phase !== "running") return;
    this.#cancel = this.#deps.timer.after(RUNNING_S, () => this.want(this.#wanted));
  }

  /** Another program has other tensors. */
  #isFrom(id: ProgramId): void {
    const { facts } = this.#deps;
    if (facts.rowsOf.peek() === id) return;
    batch(() => {
      facts.rowsOf.value = id;
      facts.rows.value = NO_ROWS;
      facts.seen.value = NOTHING_SEEN;
    });
  }

  async #fetch({ id, state }: LiveProgram): Promise<void> {
    const { facts } = this.#deps;
    const changes = `${state?.dropped_values} ${state?.notices.at(-1)?.number} ${state?.call?.number}`;
    const isChanged = changes !== this.#changes && facts.rows.peek().call === state?.call?.number;
    try {
      if (isChanged) await this.#all(id, (answer) => renewed(facts.rows.peek(), answer.tensors));
      await this.#new(id);
      this.#changes = changes;
      facts.rowsFailure.value = undefined;
    } catch (error) {
      facts.rowsFailure.value = sentence(error);
    }
  }

  /** Requests the tensors after those that are there. */
  async #new(id: ProgramId): Promise<void> {
    const { facts } = this.#deps;
    for (;;) {
      const answer = await this.#page(id, facts.rows.peek().rows.at(-1)?.number);
      if (facts.rowsOf.peek() !== id) return;
      batch(() => {
        facts.rows.value = extended(facts.rows.peek(), answer);
        facts.seen.value = withSeen(facts.seen.peek(), answer.call, answer.tensors);
      });
      const { rows, total } = facts.rows.peek();
      if (answer.tensors.length === 0 || rows.length >= Math.min(total, MOST)) return;
    }
  }

  /** Requests the tensors from the first on. */
  async #all(id: ProgramId, take: (answer: LiveTensors) => PanelFacts["rows"]["value"]): Promise<void> {
    const { facts } = this.#deps;
    let last: number | undefined;
    do {
      const answer = await this.#page(id, last);
      if (facts.rowsOf.peek() !== id || answer.call !== facts.rows.peek().call) return;
      batch(() => {
        facts.rows.value = take(answer);
        facts.seen.value = withSeen(facts.seen.peek(), answer.call, answer.tensors);
      });
      last = answer.tensors.at(-1)?.number;
    } while (last !== undefined && last < (facts.rows.peek().rows.at(-1)?.number ?? 0));
  }

  #page(id: ProgramId, after: number | undefined): Promise<LiveTensors> {
    const { api, activity } = this.#deps;
    const range = after === undefined ? { limit: PAGE } : { after: liveTensorNumber(after), limit: PAGE };
    return activity.track(api.liveTensors(id, range));
  }
}

/** The most ops that are fetched, in pages of the server. */
const MOST_OPS = 500_000;

export interface OpDeps {
  readonly api: Pick<Api, "opColumns">;
  readonly store: Pick<RunFacts, "run" | "status">;
  readonly facts: PanelFacts;
  readonly activity: Activity;
  /** Whether the tree is seen. */
  readonly isSeen: () => boolean;
}

/** Begins to follow the ops; returns a function that ends it. */
export function followOps(deps: OpDeps): () => void {
  const fetching = new Fetching(deps);
  return effect(() => {
    const run = deps.store.run.value;
    void deps.store.status.value?.generation;
    if (deps.isSeen() && run !== undefined) untracked(() => void fetching.want(run));
  });
}

/** The requests, one after the other. A run gets more ops while it is recorded; only those are requested. */
class Fetching {
  readonly #deps: OpDeps;
  #run: RunName | undefined;
  #pages: ColumnPage[] = [];
  #isAsking = false;
  #isDue = false;

  constructor(deps: OpDeps) {
    this.#deps = deps;
  }

  async want(run: RunName): Promise<void> {
    if (run !== this.#run) this.#begin(run);
    this.#isDue = true;
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#isDue) {
      this.#isDue = false;
      await this.#ask();
    }
    this.#isAsking = false;
  }

  #begin(run: RunName): void {
    this.#run = run;
    this.#pages = [];
    this.#deps.facts.ops.value = { kind: "loading", stale: undefined };
  }

  async #ask(): Promise<void> {
    const { facts } = this.#deps;
    const run = this.#run as RunName;
    try {
      const isNew = await this.#fetch(run);
      if (run !== this.#run) return;
      if (isNew || facts.ops.peek()?.kind !== "ready")
        facts.ops.value = { kind: "ready", value: listedOps(this.#pages) };
    } catch (error) {
      if (run !== this.#run) return;
      facts.ops.value = { kind: "failed", message: sentence(error) };
      // The run may have been recorded anew, with fewer ops.
      this.#pages = [];
    }
  }

  /** Requests the ops after those that are there; returns whether there were any. */
  async #fetch(run: RunName): Promise<boolean> {
    const { api, activity } = this.#deps;
    let isNew = false;
    for (;;) {
      const page = await activity.track(api.opColumns(run, this.#pages.at(-1)?.end ?? 0));
      if (run !== this.#run || page.end <= page.begin) return isNew;
      this.#pages.push(page);
      isNew = true;
      if (page.end >= Math.min(page.total, MOST_OPS)) return true;
    }
  }
}

export interface WatchDeps {
  readonly facts: Pick<PanelFacts, "watches" | "watchResults">;
  readonly store: Pick<ValueFacts, "liveEdition">;
  readonly live: {
    readonly program: ReadonlySignal<LiveProgram | undefined>;
    evaluate(expression: string): Promise<Evaluation>;
  };
  /** Whether the results are seen. */
  readonly isSeen: () => boolean;
}

/** Reads the expressions of the program in focus; returns a function that ends it. */
export function recallWatches({ facts, live }: Pick<WatchDeps, "facts" | "live">): () => void {
  const key = computed(() => live.program.value && keptAs(live.program.value));
  return effect(() => {
    const text = key.value === undefined ? undefined : remembered(key.value);
    facts.watches.value = expressionsOf(text);
  });
}

/** Evaluates watch expressions anew at each pause, one after the other; returns a function that ends it. */
export function followWatches({ facts, store, live, isSeen }: WatchDeps): () => void {
  const key = computed(() => {
    const program = live.program.value;
    const isHeld = program !== undefined && ["paused", "waiting"].includes(situationOf(program));
    return isHeld ? `${program.id} ${program.state?.pause?.number} ${store.liveEdition.value}` : "";
  });
  let isAsking = false;
  async function ask(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    for (let next = due(facts, key.peek()); next !== undefined; next = due(facts, key.peek()))
      await settle(facts, key.peek(), next, live.evaluate(next));
    isAsking = false;
  }
  return effect(() => {
    const now = key.value;
    void facts.watches.value;
    if (now === "" || !isSeen()) return;
    untracked(() => {
      if (facts.watchResults.peek().key !== now) facts.watchResults.value = { ...NO_RESULTS, key: now };
      void ask();
    });
  });
}

/** The first expression without a result at the pause; none after a request that failed: others would, too. */
function due({ watches, watchResults }: WatchDeps["facts"], key: string): string | undefined {
  const { key: known, of } = watchResults.peek();
  const hasFailed = [...of.values()].some(({ kind }) => kind === "failed");
  return known === key && !hasFailed ? watches.peek().find((one) => !of.has(one)) : undefined;
}

async function settle(
  { watchResults }: WatchDeps["facts"],
  key: string,
  expression: string,
  asked: Promise<Evaluation>,
): Promise<void> {
  const result = await asked.then(
    (value) => ({ kind: "ready", value }) as const,
    (error) => ({ kind: "failed", message: sentence(error) }) as const,
  );
  const { key: known, of } = watchResults.peek();
  if (known === key) watchResults.value = { key, of: new Map([...of, [expression, result]]) };
}
