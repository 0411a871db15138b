/** The derived values of the store: computed from facts and from the server's answers. */
import type { Deps } from "../deps";
import { createValues } from "../values/values";
import { createDiagnoses } from "./alerts";
import { createByKey } from "./keyed";
import { createOrigins } from "./origins";
import { createSource } from "./source";
import { createGraphs, createStructure } from "./structure";
import { createOverviews, createPositions, createSessionRuns } from "./timeline";

export type Derived = ReturnType<typeof createDerived>;

export function createDerived(deps: Deps) {
  const byKey = createByKey(deps);
  const structure = createStructure(deps, byKey);
  const origins = createOrigins(deps, byKey, structure);
  return {
    ...structure,
    ...createGraphs(deps, byKey, structure.opInfo, structure.executionData),
    ...createSource(deps, byKey, structure),
    ...origins,
    ...createDiagnoses(deps, byKey, structure, origins),
    ...createOverviews(deps, byKey),
    ...createSessionRuns(deps, byKey),
    ...createPositions(deps, byKey, structure),
    ...createValues(deps, byKey),
  };
}
