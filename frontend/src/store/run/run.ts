/** The run in focus: its facts, and values that are requested from the server by a key. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Logdir, Runs, Status } from "../../api/answers";
import type { Api } from "../../api/routes";
import type { RunName } from "../../base/ids";
import type { Loaded } from "../../base/loaded";
import type { Activity } from "../common/activity";
import { type Load, resource } from "../common/resource";

export type RunFacts = ReturnType<typeof createRunFacts>;

/** The run in focus, what the server answered of it, and whether it does. */
export function createRunFacts() {
  return {
    /** The runs below the logdir. */
    runs: signal<Loaded<Runs>>({ kind: "loading", stale: undefined }),
    /** The folder that the server searches for runs; undefined until it answers. */
    logdir: signal<Logdir | undefined>(undefined),
    /** The newest status of the run in focus. */
    status: signal<Status | undefined>(undefined),
    /** Why the last request for changes failed; undefined when it succeeded. */
    connection: signal<string | undefined>(undefined),
    /** Whether nothing was recorded for a while. */
    silent: signal(false),
    /** Rises when the server answers again after a failure. */
    reconnects: signal(0),
    /** The run in focus. */
    run: signal<RunName | undefined>(undefined),
    /** The run that it is compared with. */
    other: signal<RunName | undefined>(undefined),
    /** Rises when the reader comes back to the page, or presses the host's reload button. */
    looks: signal(0),
    /** Whether the tab is visible. */
    seen: signal(true),
  };
}

/** What the parts of a slice share; `Facts` are those that it knows. */
export interface Deps<Facts = RunFacts> {
  readonly api: Api;
  readonly facts: Facts;
  readonly activity: Activity;
}

/** Makes a value by its key; an undefined key requests nothing. */
export type ByKey = <K, T>(
  key: () => K | undefined,
  load: Load<K, T>,
  /** The number of answers that are kept. */
  most?: number,
) => ReadonlySignal<Loaded<T> | undefined>;

/** A failed value is requested again after a change of the run, and when the server answers again. */
export function createByKey({ facts, activity }: Deps): ByKey {
  const again = computed(() => `${facts.status.value?.generation} ${facts.reconnects.value}`);
  return (key, load, most) => resource(computed(key), load, activity, again, most).loaded;
}

export function both<A, B>(a: A | undefined, b: B | undefined): readonly [A, B] | undefined {
  return a === undefined || b === undefined ? undefined : [a, b];
}

export function ready<T>(loaded: Loaded<T> | undefined): T | undefined {
  return loaded?.kind === "ready" ? loaded.value : undefined;
}
