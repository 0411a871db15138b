/**
 * The value view on a tensor of a program that runs: what is known of the tensor, and the change to the newest
 * value when the same tensor is computed again.
 */
import { computed, effect, type ReadonlySignal, untracked } from "@preact/signals";
import type { ValueRef } from "../../api/values";
import { liveTensorNumber } from "../../base/ids";
import { goneInfo } from "../../model/live/live_value";
import { keyOfNumber, type Seen } from "../../model/live/seen_tensors";
import type { Facts } from "../facts";
import type { PanelFacts } from "./facts";

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
  store: Pick<Facts, "value">,
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
  store: Pick<Facts, "value" | "historyOf">,
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
  store: Pick<Facts, "goneValue">,
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
