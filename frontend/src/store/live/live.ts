/** Programs that run: their facts, verbs, and what follows them; panels ask only while somebody looks. */
import { computed, effect, type ReadonlySignal, untracked } from "@preact/signals";
import type { LiveProgram } from "../../api/live";
import type { Api } from "../../api/routes";
import type { ValueRef } from "../../api/values";
import { liveTensorNumber, type RunName } from "../../base/ids";
import { goneInfo } from "../../model/live/live_value";
import { keyOfNumber, type Seen } from "../../model/live/seen_tensors";
import { type Activity, type Timer, together } from "../common/activity";
import type { Dock } from "../dock/dock";
import type { Choice, VerbDeps } from "../focus/facts";
import type { ValueFacts } from "../values/verbs";
import {
  createLiveDerived,
  createLiveFacts,
  createPanelFacts,
  type LiveDerived,
  type LiveFacts,
  type PanelFacts,
} from "./facts";
import { announce, createToasts, followPrograms } from "./follow";
import { focusHits, type HitDeps } from "./hits";
import { followOps, followTensors, followWatches, recallWatches } from "./panels";
import { createLiveVerbs, createPanelVerbs, type PanelVerbDeps } from "./verbs";

export type Live = ReturnType<typeof createLive>;

export interface LiveDeps extends VerbDeps {
  readonly timer: Timer;
  readonly choice: Choice;
  readonly dock: Dock;
  readonly verbs: HitDeps["verbs"];
}

export function createLive(deps: LiveDeps) {
  const facts = createLiveFacts();
  const derived = createLiveDerived(facts, deps.facts.run);
  const toasts = createToasts(facts, deps.timer);
  return {
    ...facts,
    ...derived,
    ...createLiveVerbs({
      ...deps,
      facts,
      derived,
      toasts,
      showRun: (run) => deps.facts.run.peek() !== run && deps.verbs.selectRun(run),
    }),
    /** Begins to follow programs; returns a function that ends it. */
    start(isLinked: boolean, takeStatus: HitDeps["takeStatus"]): () => void {
      return together([
        announce(derived, toasts),
        followRun(deps.facts.run, facts, derived),
        focusHits({ ...deps, derived, isLinked, takeStatus }),
        followPrograms({ ...deps, facts, derived, seen: deps.facts.seen }),
      ]);
    },
  };
}

/** A reader who goes to the run of another program has not chosen the one before any more. */
function followRun(
  run: ReadonlySignal<RunName | undefined>,
  facts: LiveFacts,
  { programs }: LiveDerived,
): () => void {
  return effect(() => {
    const now = run.value;
    untracked(() => {
      const chosen = programs.peek().find(({ id }) => id === facts.chosen.peek());
      if (chosen?.run !== undefined && chosen.run !== now && programs.peek().some((one) => one.run === now))
        facts.chosen.value = undefined;
    });
  });
}

export type LivePanel = ReturnType<typeof createLivePanel>;

export interface LivePanelDeps extends Omit<PanelVerbDeps, "facts"> {
  readonly api: Pick<Api, "liveTensors" | "opColumns" | "find">;
  readonly store: PanelVerbDeps["store"];
  readonly dock: Dock;
  readonly activity: Activity;
  readonly timer: Timer;
}

export function createLivePanel(deps: LivePanelDeps) {
  const { live, store, dock } = deps;
  const facts = createPanelFacts();
  const liveValue = createLiveValue(store, facts);
  /** The program whose tensors are looked at. */
  const wanted = computed((): LiveProgram | undefined => {
    const isOpen = dock.open.value === "tensors" || dock.open.value === "evaluate";
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
      return together([
        followTensors({ ...deps, facts, wanted: () => wanted.value }),
        followOps({ ...deps, facts, isSeen: () => store.seen.value && dock.open.value === "ops" }),
        noteGone(store, liveValue),
        forgetChoice(live, facts),
        recallWatches({ facts, live }),
        followWatches({
          facts,
          store,
          live,
          isSeen: () => store.seen.value && dock.open.value === "evaluate",
        }),
        followValue(store, facts, liveValue),
      ]);
    },
  };
}

/** At a new pause, the tensor at which the program is paused is in focus, not one that was chosen before. */
function forgetChoice(live: LiveDerived, facts: PanelFacts): () => void {
  const pause = computed(() => live.state.value?.pause?.number);
  return effect(() => {
    void pause.value;
    facts.chosenTensor.value = undefined;
  });
}

export type LiveRef = Extract<ValueRef, { kind: "live" }>;

/** What the page knows of the open value. */
export interface LiveValue {
  readonly ref: LiveRef;
  /** Each time that the tensor was computed while the page looked, oldest first; empty for a result. */
  readonly seen: readonly Seen[];
  /** The position of the open value among them. */
  readonly at: number;
  /** Whether the program holds the elements: it does so until the next call. */
  readonly isHeld: boolean;
}

export function createLiveValue(
  store: Pick<ValueFacts, "value">,
  facts: PanelFacts,
): ReadonlySignal<LiveValue | undefined> {
  // The key stays known after the tensor itself was forgotten.
  let last: { readonly number: number; readonly key: string | undefined } | undefined;
  return computed(() => {
    const ref = store.value.value;
    if (ref?.kind !== "live") return undefined;
    const all = facts.seen.value;
    if (last?.number !== ref.tensor || last.key === undefined)
      last = { number: ref.tensor, key: keyOfNumber(all, ref.tensor) };
    const seen = last.key === undefined ? [] : (all.byKey.get(last.key) ?? []);
    const at = seen.findIndex(({ tensor }) => tensor.number === ref.tensor);
    const now = seen[at];
    const isHeld = now === undefined || (now.call === facts.rows.value.call && now.tensor.has_value);
    return { ref, seen, at, isHeld };
  });
}

/** Changes the open value to the newest one of its tensor; returns a function that ends it. */
export function followValue(
  store: Pick<ValueFacts, "value" | "historyOf">,
  facts: PanelFacts,
  liveValue: ReadonlySignal<LiveValue | undefined>,
): () => void {
  return effect(() => {
    const now = liveValue.value;
    if (now === undefined || !facts.isFollowing.value || now.at < 0) return;
    const newest = now.seen.at(-1)?.tensor;
    if (newest === undefined || newest.number <= now.ref.tensor) return;
    untracked(() => {
      const ref = { ...now.ref, tensor: liveTensorNumber(newest.number) };
      store.value.value = ref;
      store.historyOf.value = ref;
    });
  });
}

/** Tells the value view what is known of a value that the program does not hold any more. */
export function noteGone(
  store: Pick<ValueFacts, "goneValue">,
  liveValue: ReadonlySignal<LiveValue | undefined>,
): () => void {
  return effect(() => {
    const now = liveValue.value;
    const seen = now?.seen[now.at];
    const isGone = now !== undefined && seen !== undefined && !now.isHeld;
    store.goneValue.value = isGone
      ? { ref: now.ref, info: goneInfo({ seen, at: now.at, of: now.seen.length }) }
      : undefined;
  });
}
