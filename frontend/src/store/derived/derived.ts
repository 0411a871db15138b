/** The derived values of the store: computed from facts and from the server's answers. */

import { computed } from "@preact/signals";
import type { Api } from "../../api/routes";
import type { FrameId, RunName } from "../../base/ids";
import { shown } from "../../base/loaded";
import type { SourceLine } from "../../model/source";
import { type Frame, framesOf, mainFrame } from "../../model/stack";
import type { Deps } from "../deps";
import type { Facts } from "../facts";
import { createValues } from "../values/values";
import { createDiagnoses } from "./alerts";
import { type ByKey, both, createByKey, ready } from "./keyed";
import { createOrigins } from "./origins";
import { createGraphs, createStructure, type Structure } from "./structure";
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

export function createSource({ api, facts }: Deps, byKey: ByKey, structure: Structure) {
  const run = facts.run;
  const stack = byKey(
    () => both(run.value, stackOf(facts, structure)),
    ([name, ids], signal) => loadStack(api, name, ids, signal),
  );
  const shownFrame = computed(() => {
    if (facts.line.value !== undefined) return undefined;
    const frames = shown(stack.value) ?? [];
    return frames.find(({ id }) => id === facts.frame.value) ?? mainFrame(frames);
  });
  const source = byKey(
    () => both(run.value, facts.line.value?.file ?? shownFrame.value?.file),
    ([name, file], signal) => api.source(name, file, signal),
  );
  return {
    stack,
    /** The frame whose line is shown; undefined while a line is shown that was chosen without a frame. */
    shownFrame,
    source,
    /** The line that is shown. */
    sourceLine: computed((): SourceLine | undefined => {
      const chosen = facts.line.value;
      if (chosen === undefined) return shownFrame.value;
      return { ...chosen, path: ready(source.value)?.file_path ?? "", text: undefined };
    }),
  };
}

function stackOf(facts: Facts, { opInfo, executionData }: Structure): readonly FrameId[] | undefined {
  const subject = facts.subject.value === "op" ? shown(opInfo.value) : shown(executionData.value);
  const ids = subject?.stack_frame_ids ?? [];
  return ids.length === 0 ? undefined : ids;
}

async function loadStack(
  api: Api,
  run: RunName,
  ids: readonly FrameId[],
  signal: AbortSignal,
): Promise<readonly Frame[]> {
  return framesOf(ids, await api.frames(run, ids, signal));
}
