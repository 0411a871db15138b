/** The derived values of the store: computed from facts and from the server's answers. */
import type { Deps } from "../deps";
import { createDiagnoses } from "./alerts";
import { createAsk } from "./ask";
import { createSource } from "./source";
import { createGraphs, createStructure } from "./structure";
import { createOverviews, createPositions } from "./timeline";

export type Derived = ReturnType<typeof createDerived>;

export function createDerived(deps: Deps) {
  const ask = createAsk(deps);
  const structure = createStructure(deps, ask);
  return {
    ...structure,
    ...createGraphs(deps, ask, structure.opInfo, structure.executionData),
    ...createSource(deps, ask, structure),
    ...createDiagnoses(deps, ask, structure),
    ...createOverviews(deps, ask),
    ...createPositions(deps, ask, structure),
  };
}
