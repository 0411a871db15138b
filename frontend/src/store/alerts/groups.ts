/** Alerts by what they have in common. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { RunVerdict } from "../../api/answers";
import type { Grouping } from "../../api/rules";
import { type Loaded, shown } from "../../base/loaded";
import { setter } from "../common/activity";
import { both, createByKey, type Deps, type RunFacts } from "../run/run";
import type { AlertFacts } from "./verbs";

export function createAlertGroups(
  deps: Deps<RunFacts & AlertFacts>,
  verdict: ReadonlySignal<Loaded<RunVerdict> | undefined>,
) {
  const { api, facts } = deps;
  /** What the reader chose; where no value is bad, the groups are what there is to see. */
  const chosen = signal<boolean | undefined>(undefined);
  const isOpen = computed(() => chosen.value ?? shown(verdict.value)?.kind === "rules");
  const by = signal<Grouping>("layer");
  const key = () =>
    isOpen.value
      ? both(facts.run.value, `${facts.status.value?.generation ?? ""} ${facts.meant.value}`)
      : undefined;
  return {
    /** Whether the section is open; a closed one requests nothing. */
    isOpen,
    setOpen: setter(chosen),
    by,
    setBy: setter(by),
    groups: createByKey(deps)(
      () => both(key(), by.value),
      ([[run], by], abort) => api.alertGroups(run, by, abort),
      2,
    ),
  };
}
