import { effect, signal } from "@preact/signals";
import { expect, test } from "vitest";
import { createActivity } from "../src/store/common/activity";
import { resource } from "../src/store/common/resource";

/** A resource whose requests the test answers, by key. */
function setup(first?: string) {
  const again = signal(0);
  const key = signal<string | undefined>(first);
  const waiting = new Map<
    string,
    { give: (value: string) => void; fail: (error: Error) => void; signal: AbortSignal }
  >();
  const asked: string[] = [];
  const activity = createActivity();
  const load = (name: string, abort: AbortSignal) => {
    asked.push(name);
    return new Promise<string>((give, fail) => waiting.set(name, { give, fail, signal: abort }));
  };
  const { loaded, stop } = resource(key, load, activity, again);
  const settle = async (name: string, value: string | Error) => {
    const one = waiting.get(name);
    if (value instanceof Error) one?.fail(value);
    else one?.give(value);
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { key, again, waiting, asked, loaded, stop, settle, activity };
}

test("there is no value without a key", () => {
  expect(setup().loaded.value).toBeUndefined();
});

test("the newest key wins, and the request for the one before is aborted", async () => {
  const { key, waiting, loaded, settle } = setup("a");
  key.value = "b";
  expect(waiting.get("a")?.signal.aborted).toBe(true);
  await settle("b", "B");
  await settle("a", "A");
  expect(loaded.value).toEqual({ kind: "ready", value: "B" });
});

test("the previous value can be shown while the next is loading", async () => {
  const { key, loaded, settle } = setup("a");
  await settle("a", "A");
  key.value = "b";
  expect(loaded.value).toEqual({ kind: "loading", stale: "A" });
});

test("an answer is kept, so that going back makes no request", async () => {
  const { key, asked, loaded, settle } = setup("a");
  await settle("a", "A");
  key.value = "b";
  await settle("b", "B");
  key.value = "a";
  expect(loaded.value).toEqual({ kind: "ready", value: "A" });
  expect(asked).toEqual(["a", "b"]);
});

test("a failure is a value, and is not kept", async () => {
  const { key, asked, loaded, settle } = setup("a");
  await settle("a", new Error("no"));
  expect(loaded.value).toEqual({ kind: "failed", message: "no" });
  key.value = "b";
  key.value = "a";
  expect(asked).toEqual(["a", "b", "a"]);
});

test("a failed request is repeated when `again` changes, a successful one is not", async () => {
  const { again, asked, loaded, settle } = setup("a");
  await settle("a", new Error("no"));
  again.value++;
  expect(asked).toEqual(["a", "a"]);
  await settle("a", "A");
  expect(loaded.value).toEqual({ kind: "ready", value: "A" });
  again.value++;
  expect(asked).toHaveLength(2);
});

test("an answer that is there already needs no request, and is kept", () => {
  const key = signal<string | undefined>(undefined);
  const activity = createActivity();
  const asked: string[] = [];
  const load = (name: string) => {
    asked.push(name);
    if (name === "c") throw new Error("no");
    return name.toUpperCase();
  };
  const { loaded } = resource(key, load, activity);
  const seen: unknown[] = [];
  effect(() => void seen.push(loaded.value));
  for (const name of ["a", "b", "a", "c"]) key.value = name;
  expect(seen).toEqual([
    undefined,
    ...["A", "B", "A"].map((value) => ({ kind: "ready", value })),
    { kind: "failed", message: "no" },
  ]);
  expect(asked).toEqual(["a", "b", "c"]);
  expect(activity.busy.value).toBe(false);
});

test("is busy until its last request settles", async () => {
  const { activity, key, settle } = setup("a");
  key.value = "b";
  expect(activity.busy.value).toBe(true);
  await settle("a", "A");
  expect(activity.busy.value).toBe(true);
  await settle("b", "B");
  expect(activity.busy.value).toBe(false);
});
