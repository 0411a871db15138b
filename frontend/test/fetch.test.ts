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
