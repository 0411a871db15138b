/** The run at a glance: what was checked, what rules found, and what is largest and slowest. */
import { effect, type ReadonlySignal, untracked } from "@preact/signals";
import type { RunVerdict } from "../../api/answers";
import { type Loaded, shown } from "../../base/loaded";
import { opensAtAGlance } from "../../model/glance";
import type { AlertFacts, FindingVerbs } from "../alerts/verbs";
import { together } from "../common/activity";
import type { Dock } from "../dock/dock";
import type { FocusedFacts } from "../focus/facts";
import { both, createByKey, type Deps, type RunFacts, ready } from "../run/run";

const RECOMMENDED = { rules: "recommended" };

/** Its answers are asked for while it is open. */
export function createGlance(deps: Deps<RunFacts & AlertFacts>, dock: Dock) {
  const { api, facts } = deps;
  const byKey = createByKey(deps);
  const key = () =>
    dock.open.value === "glance"
      ? both(facts.run.value, `${facts.status.value?.generation ?? ""} ${facts.meant.value}`)
      : undefined;
  return {
    rules: byKey(key, ([run], signal) => api.rules(run, RECOMMENDED, signal), 2),
    findings: byKey(key, ([run], signal) => api.findings(run, RECOMMENDED, signal), 2),
    extremes: byKey(key, ([run], signal) => api.extremes(run, signal), 2),
  };
}

type Glance = ReturnType<typeof createGlance>;

interface Opening {
  readonly facts: FocusedFacts;
  readonly dock: Dock;
  readonly verdict: ReadonlySignal<Loaded<RunVerdict> | undefined>;
  readonly glance: Glance;
  readonly verbs: FindingVerbs;
}

/**
 * Opens it where no value is bad, unless something else was chosen; and until the reader chooses something,
 * brings the most urgent alert into focus.
 */
export function openGlance({ facts, dock, verdict, glance, verbs }: Opening): () => void {
  const opening = effect(() => {
    const found = shown(verdict.value);
    dock.showFirst(found !== undefined && opensAtAGlance(found) ? "glance" : undefined);
  });
  const focusing = effect(() => {
    const first = ready(glance.findings.value)?.alerts[0];
    if (first === undefined || facts.touched.peek()) return;
    untracked(() => {
      verbs.focusFinding(first);
      facts.touched.value = false;
    });
  });
  return together([opening, focusing]);
}
