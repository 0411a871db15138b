import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import { createActivity } from "../src/store/activity";
import { resource } from "../src/store/resource";

/** A resource whose answers the test gives by key. */
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

test("nothing is there while nothing is asked for", () => {
  expect(setup().loaded.value).toBeUndefined();
});

test("what is asked for last wins, the request of the one before is ended", async () => {
  const { key, waiting, loaded, settle } = setup("a");
  key.value = "b";
  expect(waiting.get("a")?.signal.aborted).toBe(true);
  await settle("b", "B");
  await settle("a", "A");
  expect(loaded.value).toEqual({ kind: "ready", value: "B" });
});

test("the value before is there to be shown while the next is under way", async () => {
  const { key, loaded, settle } = setup("a");
  await settle("a", "A");
  key.value = "b";
  expect(loaded.value).toEqual({ kind: "loading", stale: "A" });
});

test("an answer is kept: going back asks nothing", async () => {
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

test("what failed is asked for again when told so, what is there is not", async () => {
  const { again, asked, loaded, settle } = setup("a");
  await settle("a", new Error("no"));
  again.value++;
  expect(asked).toEqual(["a", "a"]);
  await settle("a", "A");
  expect(loaded.value).toEqual({ kind: "ready", value: "A" });
  again.value++;
  expect(asked).toHaveLength(2);
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
