/**
 * What the page remembers of tensors in earlier calls: the numbers of each time that a tensor was computed
 * while the page looked. The elements of earlier calls are gone; the program holds those of the current call.
 */
import type { LiveTensor } from "../../api/live";
import { keyOf } from "./tensor_rows";

/** The most times of a tensor that are remembered, and the most tensors. */
export const MOST_SEEN = 500;
const MOST_TENSORS = 20_000;

/** A time that a tensor was computed. */
export interface Seen {
  readonly call: number;
  readonly tensor: LiveTensor;
}

/** The times of each tensor, oldest first. It is never changed, only replaced. */
export interface SeenTensors {
  readonly byKey: ReadonlyMap<string, readonly Seen[]>;
}

export const NOTHING_SEEN: SeenTensors = { byKey: new Map() };

/** Adds the tensors of a call that are newer than what is known of them. */
export function withSeen(before: SeenTensors, call: number, tensors: readonly LiveTensor[]): SeenTensors {
  if (tensors.length === 0) return before;
  const byKey = new Map(before.byKey);
  for (const tensor of tensors) {
    const key = keyOf(tensor);
    byKey.set(key, added(byKey.get(key) ?? [], { call, tensor }));
  }
  for (const key of byKey.keys()) {
    if (byKey.size <= MOST_TENSORS) break;
    byKey.delete(key);
  }
  return { byKey };
}

function added(before: readonly Seen[], seen: Seen): readonly Seen[] {
  const last = before.at(-1);
  if (last !== undefined && last.tensor.number >= seen.tensor.number)
    return before.map((old) => (old.tensor.number === seen.tensor.number ? seen : old));
  return [...before.slice(Math.max(0, before.length + 1 - MOST_SEEN)), seen];
}

/** The key of the tensor that has, or had, a number; undefined when it was never seen. */
export function keyOfNumber(all: SeenTensors, number: number): string | undefined {
  for (const [key, seen] of all.byKey) if (seen.some(({ tensor }) => tensor.number === number)) return key;
  return undefined;
}
