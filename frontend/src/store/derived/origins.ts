/** The verdict on the run, the origins of its bad values, the one that is shown, and its chain. */
import { computed } from "@preact/signals";
import type { Origin } from "../../api/origins";
import { shown } from "../../base/loaded";
import { chainKeys, chainSteps, originsOf, stepInFocus } from "../../model/origin";
import type { Deps } from "../deps";
import { type ByKey, both } from "./keyed";
import type { Structure } from "./structure";

export type OriginValues = ReturnType<typeof createOrigins>;

const NONE: readonly Origin[] = [];

export function createOrigins({ api, facts }: Deps, byKey: ByKey, { focusTarget }: Structure) {
  /** Asked again only when the server has another answer, which lags while a run grows. */
  const originList = byKey(
    () => {
      const { num_alerts = 0, generation, origins_generation } = facts.status.value ?? {};
      return both(facts.run.value, num_alerts > 0 ? (origins_generation ?? generation) : undefined);
    },
    ([run], signal) => api.origins(run, signal),
    2,
  );
  const origins = computed(() => originsOf(shown(originList.value) ?? NONE, facts.origin.value));
  const chain = computed(() => chainSteps(origins.value.shown?.chain ?? []));
  return {
    /** What is to be said of the run. What is meant is kept in a file, which makes no generation. */
    verdict: byKey(
      () => both(facts.run.value, both(facts.status.value?.generation, facts.meant.value)),
      ([run], signal) => api.verdict(run, signal),
      2,
    ),
    originList,
    origins,
    /** From the first bad value that the program shows back to its birth. */
    chain,
    /** The ops and executions of the chain, for the marks of the graph structure. */
    chainKeys: computed(() => chainKeys(chain.value)),
    /** The step of the chain that is in focus. */
    chainStep: computed(() => stepInFocus(chain.value, focusTarget.value)),
  };
}
