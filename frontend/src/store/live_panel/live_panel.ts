/** The part of the store for the panels of a program that runs; they ask only while somebody looks at them. */
import { computed, effect } from "@preact/signals";
import type { LiveProgram } from "../../api/live";
import type { Api } from "../../api/routes";
import type { Activity } from "../activity";
import type { Facts } from "../facts";
import type { Live } from "../live/live";
import type { Timer } from "../timer";
import { createPanelFacts, type PanelFacts } from "./facts";
import { createLiveValue, followValue, noteGone } from "./live_values";
import { followOps } from "./ops";
import { followTensors } from "./tensors";
import { createPanelVerbs, type PanelVerbDeps } from "./verbs";

export type LivePanel = ReturnType<typeof createLivePanel>;

export interface LivePanelDeps extends Omit<PanelVerbDeps, "facts"> {
  readonly api: Pick<Api, "liveTensors" | "opColumns" | "find">;
  readonly store: Facts;
  readonly activity: Activity;
  readonly timer: Timer;
}

export function createLivePanel(deps: LivePanelDeps) {
  const { live, store } = deps;
  const facts = createPanelFacts();
  const liveValue = createLiveValue(store, facts);
  /** The program whose tensors are looked at. */
  const wanted = computed((): LiveProgram | undefined => {
    const isOpen = live.dock.value === "tensors" || live.dock.value === "evaluate";
    const isLooking = isOpen || store.value.value?.kind === "live";
    return isLooking && store.seen.value ? live.program.value : undefined;
  });
  return {
    ...facts,
    /** What the page knows of the open value, if it is one of a program. */
    liveValue,
    ...createPanelVerbs({ ...deps, facts }),
    /** Begins to follow what is looked at; returns a function that ends it. */
    start(): () => void {
      const stops = [
        followTensors({ ...deps, facts, wanted: () => wanted.value }),
        followOps({ ...deps, facts, isSeen: () => store.seen.value && live.dock.value === "ops" }),
        noteGone(store, liveValue),
        forgetChoice(live, facts),
        followValue(store, facts, liveValue),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** At a new pause, the tensor at which the program is paused is in focus, not one that was chosen before. */
function forgetChoice(live: Live, facts: PanelFacts): () => void {
  const pause = computed(() => live.state.value?.pause?.number);
  return effect(() => {
    void pause.value;
    facts.chosenTensor.value = undefined;
  });
}
