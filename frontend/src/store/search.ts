/** What the reader looks for, and what the server found for it. */
import { computed, signal } from "@preact/signals";
import type { Api } from "../api/routes";
import { type Group, groupsOf, LISTED } from "../model/find";
import type { Activity } from "./activity";
import type { Facts } from "./facts";
import type { Timer } from "./polling";
import { resource } from "./resource";

/** What was found for a text; while a newer one is looked for, that of the older one, which its text tells. */
export interface Search {
  readonly text: string;
  readonly groups: readonly Group[];
}

/** Nobody wants the answers for the letters on the way to a word. */
const PAUSE_S = 0.15;

export function createSearch(api: Api, facts: Facts, timer: Timer, activity: Activity) {
  const asked = signal("");
  let cancel = () => {};
  const generation = computed(() => facts.status.value?.generation);
  const key = computed(() => {
    const [run, text] = [facts.run.value, asked.value];
    // A run that grows has other graphs later.
    return run === undefined || text === "" ? undefined : { run, text, generation: generation.value };
  });
  const { loaded } = resource(
    key,
    async ({ run, text }, signal): Promise<Search> => ({
      text,
      groups: groupsOf(await api.find(run, text, LISTED + 1, signal), text),
    }),
    activity,
    facts.reconnects,
  );
  return {
    /** Undefined while nothing is looked for. */
    found: loaded,
    /** Looks for a text once the reader pauses, or now; an empty one ends the search. */
    search(text: string, when: "paused" | "now" = "paused"): void {
      cancel();
      const act = () => {
        asked.value = text.trim();
      };
      if (when === "now" || text.trim() === "") act();
      else cancel = timer.after(PAUSE_S, act);
    },
  };
}
