/** The verbs of the store: everything that a click, a key or a link can do. */
import type { VerbDeps } from "../deps";
import { createAlertKeeping, createAlertVerbs } from "./alerts";
import type { Choice } from "./choice";
import { createFilterVerbs } from "./filters";
import { createFocusVerbs } from "./focus";
import { createHistoryVerbs } from "./history";
import { createOriginVerbs } from "./origins";
import { createRunVerbs } from "./runs";
import { createSearchVerbs } from "./search";
import { createValueVerbs } from "./values";

export type Verbs = ReturnType<typeof createVerbs>;

export function createVerbs(deps: VerbDeps, choice: Choice) {
  const { facts } = deps;
  const focus = createFocusVerbs(deps, choice);
  const filters = createFilterVerbs(facts);
  const values = createValueVerbs(facts);
  const { restoreAlert, setAlertType } = createAlertKeeping(deps, choice);
  return {
    ...focus,
    ...filters,
    ...values,
    ...createHistoryVerbs(deps, choice),
    ...createOriginVerbs(facts, focus),
    ...createAlertVerbs(deps, choice, focus),
    setAlertType,
    ...createSearchVerbs(deps, choice, focus, filters),
    ...createRunVerbs(facts, choice, focus, filters, { restoreAlert, ...values }),
    dismissProblem(): void {
      facts.problem.value = undefined;
    },
  };
}
