/** The search by name: the text of the reader and the results of the server. */
import { computed, signal } from "@preact/signals";
import type { Api } from "../api/routes";
import { type Group, groupsOf, LISTED } from "../model/find";
import type { Activity } from "./activity";
import type { Facts } from "./facts";
import { resource } from "./resource";
import type { Timer } from "./timer";

/** The results for `text`, which is the previous text while the newest results are loading. */
export interface Search {
  readonly text: string;
  readonly groups: readonly Group[];
}

/** Seconds without a key press before the search begins, so that not every letter is a request. */
const PAUSE_S = 0.15;

export function createSearch(api: Api, facts: Facts, timer: Timer, activity: Activity) {
  const query = signal("");
  let cancel = () => {};
  const generation = computed(() => facts.status.value?.generation);
  const key = computed(() => {
    const [run, text] = [facts.run.value, query.value];
    // A growing run gets new graphs, so the generation is part of the key.
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
    /** Undefined without a search. */
    found: loaded,
    /** Searches for a text when the reader pauses, or now; an empty text ends the search. */
    search(text: string, when: "paused" | "now" = "paused"): void {
      cancel();
      const act = () => {
        query.value = text.trim();
      };
      if (when === "now" || text.trim() === "") act();
      else cancel = timer.after(PAUSE_S, act);
    },
  };
}
