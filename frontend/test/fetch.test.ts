import { expect, test } from "vitest";
import { number, object } from "../src/api/check";
import { address, type Fetch, makeClient, RouteError } from "../src/api/fetch";

const answering =
  (body: string, status = 200): Fetch =>
  async () =>
    new Response(body, { status });
const check = object({ n: number });

test("addresses are relative, and parameters cannot break out of them", () => {
  expect(address("runs", {})).toBe("runs");
  expect(address("alerts", { run: "a&b=c#d", begin: 0, only: undefined })).toBe(
    "alerts?run=a%26b%3Dc%23d&begin=0",
  );
});

test("an answer of the agreed shape comes through", async () => {
  expect(await makeClient(answering('{"n": 3}')).json("r", {}, check)).toEqual({ n: 3 });
});

test("an answer of another shape is refused with the place", async () => {
  await expect(makeClient(answering('{"n": "3"}')).json("status", {}, check)).rejects.toThrow(
    "status.n should be a number",
  );
});

test("the server's own sentence is the message of a failure", async () => {
  const asked = makeClient(answering('{"error": "There is no run x."}', 404)).json("r", {}, check);
  await expect(asked).rejects.toMatchObject({ message: "There is no run x.", status: 404 });
});

test("a failure without a sentence still names its status", async () => {
  await expect(makeClient(answering("<html>", 502)).json("r", {}, check)).rejects.toThrow("502");
});

test("a server that is gone is said in words", async () => {
  const gone: Fetch = async () => {
    throw new TypeError("Failed to fetch");
  };
  await expect(makeClient(gone).bytes("r", {})).rejects.toEqual(
    new RouteError("TensorBoard does not answer. Is it still running?", 0),
  );
});

/** A server that takes one key and keeps the keys that it saw, and a reader who answers. */
function guarded(first: string | undefined, ...answers: (string | undefined)[]) {
  const seen: (string | undefined)[] = [];
  const questions: boolean[] = [];
  let key = first;
  const fetcher: Fetch = async (_, init) => {
    seen.push(init.headers?.["X-TB-Debugger-Key"]);
    const isRight = seen.at(-1) === "right";
    return isRight
      ? Response.json({ n: 1 })
      : Response.json({ error: "No.", needs_key: true }, { status: 403 });
  };
  const ask = async (isWrong: boolean) => {
    questions.push(isWrong);
    key = answers.shift();
    return key;
  };
  return { client: makeClient(fetcher, { current: () => key, ask }), seen, questions };
}

test("a command without a key asks for it, and again for a wrong one, and is sent then", async () => {
  const { client, seen, questions } = guarded(undefined, "wrong", "right");
  expect(await client.post("live/control", {}, check)).toEqual({ n: 1 });
  expect([seen, questions]).toEqual([
    ["wrong", "right"],
    [false, true],
  ]);
});

test("a command whose key is not given is left, with a sentence", async () => {
  const { client, seen } = guarded(undefined, undefined);
  await expect(client.post("live/control", {}, check)).rejects.toThrow("commands need the key");
  expect(seen).toEqual([]);
});

test("other refusals of a command are the server's, and no question", async () => {
  const fetcher: Fetch = async () => Response.json({ error: "Read-only." }, { status: 403 });
  const ask = () => Promise.reject(new Error("asked"));
  const client = makeClient(fetcher, { current: () => "k", ask });
  await expect(client.post("live/control", {}, check)).rejects.toThrow("Read-only.");
});

test("questions carry the key of the tab, which lets them pass under another name of the host", async () => {
  const { client, seen } = guarded("right");
  await client.json("r", {}, check);
  expect(seen).toEqual(["right"]);
});
