/** The part of the store about programs that run: facts, verbs, and what follows them. */
import { computed, effect, type ReadonlySignal, untracked } from "@preact/signals";
import type { RunName } from "../../base/ids";
import type { SourceLine } from "../../model/source";
import { executionsOf } from "../../model/status";
import type { VerbDeps } from "../deps";
import { both, createByKey } from "../derived/keyed";
import type { Timer } from "../timer";
import type { Choice } from "../verbs/choice";
import { createLiveDerived, createLiveFacts, type LiveDerived, type LiveFacts } from "./facts";
import { followPrograms } from "./follow";
import { focusHits, type HitDeps } from "./hits";
import { announce, createToasts } from "./toasts";
import { createLiveVerbs } from "./verbs";

/** The most answers about files that are kept. */
const FILES_KEPT = 4;

export type Live = ReturnType<typeof createLive>;

export interface LiveDeps extends VerbDeps {
  readonly timer: Timer;
  readonly choice: Choice;
  readonly verbs: HitDeps["verbs"];
  /** The line that is shown. */
  readonly sourceLine: ReadonlySignal<SourceLine | undefined>;
}

export function createLive(deps: LiveDeps) {
  const facts = createLiveFacts();
  const derived = createLiveDerived(facts, deps.facts.run);
  const toasts = createToasts(facts, deps.timer);
  return {
    ...facts,
    ...derived,
    lineOps: createLineOps(deps, derived),
    ...createLiveVerbs({
      ...deps,
      facts,
      derived,
      toasts,
      showRun: (run) => deps.facts.run.peek() !== run && deps.verbs.selectRun(run),
    }),
    /** Begins to follow programs; returns a function that ends it. */
    start(isLinked: boolean, takeStatus: HitDeps["takeStatus"]): () => void {
      const stops = [
        announce(derived, toasts),
        followRun(deps.facts.run, facts, derived),
        focusHits({ ...deps, derived, isLinked, takeStatus }),
        followPrograms({ ...deps, facts, derived, seen: deps.facts.seen }),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** A reader who goes to the run of another program has not chosen the one before any more. */
function followRun(
  run: ReadonlySignal<RunName | undefined>,
  facts: LiveFacts,
  { programs }: LiveDerived,
): () => void {
  return effect(() => {
    const now = run.value;
    untracked(() => {
      const chosen = programs.peek().find(({ id }) => id === facts.chosen.peek());
      if (chosen?.run !== undefined && chosen.run !== now && programs.peek().some((one) => one.run === now))
        facts.chosen.value = undefined;
    });
  });
}

/** What the lines of the file that is shown made, asked for only while a program can stop there. */
function createLineOps(deps: LiveDeps, { program }: LiveDerived) {
  const { api, facts, sourceLine } = deps;
  const file = computed(() => (program.value === undefined ? undefined : sourceLine.value?.file));
  return createByKey(deps)(
    () => {
      const status = facts.status.value;
      if (file.value === undefined || status === undefined) return undefined;
      return both(facts.run.value, { file: file.value, at: executionsOf(status) });
    },
    ([run, { file }], signal) => api.sourceOps(run, file, signal),
    FILES_KEPT,
  );
}
