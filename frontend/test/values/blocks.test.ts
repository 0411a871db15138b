import { expect, test } from "vitest";
import { createActivity } from "../../src/store/common/activity";
import { Blocks } from "../../src/store/values/blocks";

/** Blocks whose requests the test answers, by key. */
function setup(most = 8) {
  const asked: string[] = [];
  const waiting = new Map<
    string,
    { give: (text: string) => void; fail: (e: Error) => void; signal: AbortSignal }
  >();
  const blocks = new Blocks<{ key: string }, string>(
    ({ key }, signal) => {
      asked.push(key);
      return new Promise((give, fail) => {
        waiting.set(key, { give, fail, signal });
        signal.addEventListener("abort", () => fail(new Error("aborted")));
      });
    },
    createActivity(),
    most,
  );
  const settle = async (key: string, value: string | Error) => {
    const one = waiting.get(key);
    if (value instanceof Error) one?.fail(value);
    else one?.give(value);
    await new Promise((resolve) => setTimeout(resolve));
  };
  const want = (keys: string) => blocks.want([...keys].map((key) => ({ key })));
  return { blocks, want, asked, waiting, settle };
}

test("the most important blocks are requested first, a few at a time", async () => {
  const { want, asked, settle, blocks } = setup();
  want("abcde");
  expect(asked).toEqual(["a", "b", "c"]);
  await settle("b", "B");
  expect(asked).toEqual(["a", "b", "c", "d"]);
  expect(blocks.at("b")).toBe("B");
});

test("requests for what is not seen any more are aborted", async () => {
  const { want, asked, waiting, settle } = setup();
  want("abc");
  want("cx");
  await settle("c", "C");
  expect(["a", "b", "c"].map((key) => waiting.get(key)?.signal.aborted)).toEqual([true, true, false]);
  expect(asked).toEqual(["a", "b", "c", "x"]);
});

test("a block that is there is not requested again, and the oldest are dropped", async () => {
  const { want, asked, settle, blocks } = setup(2);
  for (const key of "abc") {
    want(key);
    await settle(key, key);
  }
  expect(["a", "b", "c"].map((key) => blocks.at(key))).toEqual([undefined, "b", "c"]);
  want("c");
  expect(asked).toEqual(["a", "b", "c"]);
});

test("more blocks than are kept do not drive each other out for ever", async () => {
  const { want, asked, settle } = setup(2);
  want("abcd");
  for (const key of "abcd") await settle(key, key);
  expect(asked).toEqual(["a", "b"]);
});

test("a failure is told, and is not repeated until other blocks are wanted", async () => {
  const { want, asked, settle, blocks } = setup();
  want("a");
  await settle("a", new Error("no"));
  expect(blocks.failure.value).toBe("no");
  want("a");
  expect(asked).toEqual(["a"]);
  want("b");
  expect(blocks.failure.value).toBeUndefined();
  await settle("b", "B");
  want("ab");
  expect(asked).toEqual(["a", "b", "a"]);
});
