/** The part of the store about programs that run: facts, verbs, and what follows them. */
import type { VerbDeps } from "../deps";
import type { Timer } from "../timer";
import type { Choice } from "../verbs/choice";
import { createLiveDerived, createLiveFacts } from "./facts";
import { followPrograms } from "./follow";
import { focusHits, type HitDeps } from "./hits";
import { announce, createToasts } from "./toasts";
import { createLiveVerbs } from "./verbs";

export type Live = ReturnType<typeof createLive>;

export interface LiveDeps extends VerbDeps {
  readonly timer: Timer;
  readonly choice: Choice;
  readonly verbs: HitDeps["verbs"];
}

export function createLive(deps: LiveDeps) {
  const facts = createLiveFacts();
  const derived = createLiveDerived(facts);
  const toasts = createToasts(facts, deps.timer);
  return {
    ...facts,
    ...derived,
    ...createLiveVerbs({ ...deps, facts, derived, toasts }),
    /** Begins to follow programs; returns a function that ends it. */
    start(isLinked: boolean): () => void {
      const stops = [
        announce(derived, toasts),
        focusHits({ ...deps, derived, isLinked }),
        followPrograms({ ...deps, facts, derived, seen: deps.facts.seen }),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}
