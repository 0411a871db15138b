/** The ops of the run, for the tree; fetched when it is open, and again when the run has grown. */
import { effect, untracked } from "@preact/signals";
import type { ColumnPage } from "../../api/columns";
import type { Api } from "../../api/routes";
import type { RunName } from "../../base/ids";
import { sentence } from "../../base/loaded";
import { listedOps } from "../../model/live/op_list";
import type { Activity } from "../activity";
import type { Facts } from "../facts";
import type { PanelFacts } from "./facts";

/** The most ops that are fetched, in pages of the server. */
const MOST = 500_000;

export interface OpDeps {
  readonly api: Pick<Api, "opColumns">;
  readonly store: Pick<Facts, "run" | "status">;
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
      if (page.end >= Math.min(page.total, MOST)) return true;
    }
  }
}
