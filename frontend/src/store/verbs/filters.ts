/** Verbs that choose which graph executions are listed. */
import type { GraphExecutionFilter } from "../../api/routes";
import type { Facts } from "../facts";

export type FilterVerbs = ReturnType<typeof createFilterVerbs>;

export function createFilterVerbs(facts: Facts) {
  return {
    setOnlyBad(only: boolean): void {
      facts.onlyBad.value = only;
    },
    /** An empty text removes its part of the filter. */
    setFilter({ host = "", layer = "" }: GraphExecutionFilter): void {
      facts.filter.value = { host: host || undefined, layer: layer || undefined };
    },
  };
}
