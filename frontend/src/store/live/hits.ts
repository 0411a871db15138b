/**
 * Focuses what a new pause is about in all sections: its run, its op at the newest value on record, and its
 * line. One question brings what is on record at the pause; a server without an answer to it is polled. A
 * pause moves the focus once, and later only to a newer value of the same op, until the reader chooses
 * something else.
 */
import { batch, computed, effect, untracked } from "@preact/signals";
import type { Status } from "../../api/answers";
import type { Paused } from "../../api/live";
import { executionIndex, type GraphExecutionIndex, type RunName } from "../../base/ids";
import { shown } from "../../base/loaded";
import { exactly } from "../../base/text";
import { type Hit, type HitOp, hitOf } from "../../model/live/hit";
import type { Timer } from "../common/activity";
import type { Choice, VerbDeps } from "../focus/facts";
import type { FocusVerbs } from "../focus/verbs";
import { fileOf } from "../search/search";
import type { SourceVerbs } from "../source/source";
import type { LiveDerived } from "./facts";

/** Seconds after a pause when its rows are looked for again, if they were not on record. */
const SOON_S = 0.4;

export interface HitDeps extends VerbDeps {
  readonly derived: LiveDerived;
  readonly timer: Timer;
  readonly choice: Choice;
  readonly verbs: Pick<
    FocusVerbs & SourceVerbs,
    "focusOp" | "focusKnown" | "focusGraphExecution" | "focusExecution" | "focusLine" | "focusOnlyLine"
  > & {
    selectRun(run: RunName): void;
  };
  /** Takes a status of the run in focus. */
  readonly takeStatus: (status: Status) => void;
  /** Whether a link chose a focus, which the first pause that the page sees does not move. */
  readonly isLinked: boolean;
}

/** Begins to focus hits; returns a function that ends it. */
export function focusHits(deps: HitDeps): () => void {
  const { facts, derived } = deps;
  const hits = new Hits(deps);
  const text = computed(() => JSON.stringify(hitOf(derived.program.value)));
  return effect(() => {
    void text.value;
    void facts.run.value;
    const runs = shown(facts.runs.value);
    const generation = facts.status.value?.generation;
    untracked(() => {
      const hit = hitOf(derived.program.peek());
      if (hit !== undefined && runs !== undefined) hits.see(hit, runs.has(hit.run), generation);
    });
  });
}

class Hits {
  readonly #deps: HitDeps;
  /** The pause that was focused last. */
  #key: string | undefined;
  /** The number of the choice that focused it; a later choice is the reader's. */
  #mine = -1;
  /** The row in focus, and the generation for which it was looked up. */
  #row: GraphExecutionIndex | undefined;
  #looked: string | undefined;
  /** Whether the server is being asked what is on record at the pause. */
  #isAsking = false;
  #isFirst: boolean;
  /** The run that was not listed when it was sought last. */
  #missing: RunName | undefined;

  constructor(deps: HitDeps) {
    this.#deps = deps;
    this.#isFirst = deps.isLinked;
  }

  /** Takes the current pause, when its run is listed; else asks for the runs. */
  see(hit: Hit, isListed: boolean, generation: number | undefined): void {
    if (isListed) this.#take(hit, generation);
    else if (this.#missing !== hit.run) {
      this.#missing = hit.run;
      this.#look();
    }
  }

  #take(hit: Hit, generation: number | undefined): void {
    const { facts, choice } = this.#deps;
    if (hit.key !== this.#key && !this.#begin(hit)) return;
    if (this.#isAsking) return;
    const look = `${hit.key} ${generation}`;
    if (this.#mine !== choice.latest() || generation === undefined || this.#looked === look) return;
    // A reader who chose a stack frame since then reads its file.
    if (this.#looked !== undefined && facts.frame.peek() !== undefined) return;
    this.#looked = look;
    void this.#focus(hit);
  }

  /** Begins with a new pause; whether the focus is to move. */
  #begin(hit: Hit): boolean {
    const { key, run } = hit;
    const { facts, verbs, choice } = this.#deps;
    const isLeft = this.#isFirst;
    this.#key = key;
    this.#row = undefined;
    this.#looked = undefined;
    this.#isFirst = false;
    this.#isAsking = false;
    this.#mine = -1;
    if (isLeft) return false;
    if (facts.run.peek() !== run) verbs.selectRun(run);
    facts.touched.value = true;
    this.#mine = choice.latest();
    void this.#ask(hit);
    return true;
  }

  /** Asks what is on record at the pause, and shows it. */
  async #ask(hit: Hit): Promise<void> {
    const { api, activity, facts, timer } = this.#deps;
    this.#isAsking = true;
    const asked = api.livePaused(hit.program, hit.pause).catch(() => undefined);
    const found = await activity.track(asked);
    if (this.#key !== hit.key) return;
    this.#isAsking = false;
    if (found !== undefined && facts.run.peek() === found.run) this.#show(hit, found);
    else this.#look();
    if (found?.is_complete !== true) timer.after(SOON_S, () => this.#key === hit.key && this.#look());
    this.#take(hit, facts.status.peek()?.generation);
  }

  #show(hit: Hit, { run, status, op: found }: Paused): void {
    const { facts, choice, verbs, takeStatus } = this.#deps;
    batch(() => {
      const graph = hit.op?.graph;
      const index = found?.graph_execution;
      const isWanted = this.#mine === choice.latest();
      if (isWanted && graph !== undefined && hit.op !== undefined && found && index !== undefined) {
        const op = { graph, opName: hit.op.opName, graphExecution: index, owner: found.owner };
        facts.known.value = { run, op, info: found.info };
        verbs.focusKnown(op, index);
        this.#row = index;
        this.#mine = choice.latest();
        this.#looked = `${hit.key} ${status.generation}`;
      }
      takeStatus(status);
    });
  }

  #look(): void {
    const { looks } = this.#deps.facts;
    looks.value = looks.peek() + 1;
  }

  async #focus(hit: Hit): Promise<void> {
    const { activity } = this.#deps;
    const find = hit.op === undefined ? this.#line(hit) : this.#op(hit, hit.op);
    const act = await activity.track(find.catch(() => undefined));
    // The reader, or a newer pause, may have moved the focus meanwhile.
    if (act === undefined || this.#key !== hit.key || this.#mine !== this.#deps.choice.latest()) return;
    batch(act);
    this.#mine = this.#deps.choice.latest();
  }

  /** Focuses the op at its newest value; undefined when that is in focus. */
  async #op(hit: Hit, op: HitOp): Promise<(() => void) | undefined> {
    const { api, verbs, facts } = this.#deps;
    if (op.graph === undefined) return this.#eager(hit, op);
    const { graph, opName, slot } = op;
    const { outputs } = await api.op(hit.run, graph, opName, undefined);
    const graphExecution = outputs[slot]?.health?.graph_execution_index;
    const isSame = graphExecution === this.#row && facts.subject.peek() === "op" && this.#row !== undefined;
    if (isSame) return undefined;
    return () => {
      this.#row = graphExecution;
      if (graphExecution === undefined) verbs.focusOp({ graph, opName, graphExecution, owner: undefined });
      else void verbs.focusGraphExecution(graphExecution);
    };
  }

  /** Focuses the last execution of the type of an eager op. */
  async #eager(hit: Hit, { opType }: HitOp): Promise<(() => void) | undefined> {
    const { api, verbs, facts } = this.#deps;
    const last = opType === "" ? undefined : await api.lastExecution(hit.run, exactly(opType));
    if (last === undefined) return this.#line(hit);
    if (facts.execution.peek() === last && facts.subject.peek() === "execution") return undefined;
    return () => verbs.focusExecution(executionIndex(last));
  }

  async #line({ run, line, isBetween }: Hit): Promise<(() => void) | undefined> {
    const { api, verbs, facts } = this.#deps;
    if (line === undefined) return undefined;
    const found = await fileOf(api, run, line.path);
    const before = facts.line.peek();
    if (found === undefined || (before?.file === found && before.line === line.line)) return undefined;
    const focused = { file: found, line: line.line };
    return () => (isBetween ? verbs.focusOnlyLine(focused) : verbs.focusLine(focused));
  }
}
