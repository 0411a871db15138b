import { beforeEach, expect, test } from "vitest";
import { createActivity } from "../src/store/common/activity";
import { PAGE, Pages, type Ranged } from "../src/store/common/pages";

interface Page extends Ranged {
  readonly asked: number;
}

/** Requests that wait until the test answers them. */
class Server {
  readonly asked: [number, number][] = [];
  total = 100_000;
  #waiting: (() => void)[] = [];

  load = (begin: number, end: number): Promise<Page> => {
    this.asked.push([begin, end]);
    const asked = this.asked.length;
    return new Promise((resolve, reject) => {
      this.#waiting.push(() =>
        this.total < 0
          ? reject(new Error("gone"))
          : resolve({ begin, end: Math.min(end, this.total), total: this.total, asked }),
      );
    });
  };

  /** Answers the oldest request. */
  async answer(): Promise<void> {
    this.#waiting.shift()?.();
    await new Promise((resolve) => setTimeout(resolve));
  }

  get underWay(): number {
    return this.#waiting.length;
  }
}

let server: Server;
let pages: Pages<Page>;
beforeEach(() => {
  server = new Server();
  pages = new Pages(server.load, createActivity());
  pages.setTotal(server.total);
});

test("nothing is fetched until something is visible", () => {
  expect(server.asked).toEqual([]);
});

test("only visible pages are fetched, neighbours in one request", async () => {
  pages.want(PAGE - 10, PAGE + 10);
  expect(server.asked).toEqual([[0, 2 * PAGE]]);
  await server.answer();
  expect(pages.at(0)?.asked).toBe(1);
  expect(pages.at(2 * PAGE - 1)?.asked).toBe(1);
  expect(pages.at(2 * PAGE)).toBeUndefined();
  pages.want(5, 20);
  expect(server.asked).toHaveLength(1);
});

test("dragging through the list fetches the first and the last position, and none between", async () => {
  for (let row = 0; row < 90_000; row += 500) pages.want(row, row + 20);
  expect(server.underWay).toBe(1);
  await server.answer();
  await server.answer();
  expect(server.asked).toHaveLength(2);
  expect(pages.at(89_500)).toBeDefined();
});

test("a list that grows fetches only its last page again", async () => {
  server.total = 300;
  pages.setTotal(300);
  pages.want(0, 400);
  await server.answer();
  pages.setTotal(310);
  expect(server.asked.at(-1)).toEqual([PAGE, 310]);
});

test("a refresh shows the old page until the new one arrives", async () => {
  pages.want(0, 20);
  await server.answer();
  pages.refresh();
  expect(pages.at(3)?.asked).toBe(1);
  await server.answer();
  expect(pages.at(3)?.asked).toBe(2);
});

test("an answer to a request from before a refresh is shown and fetched again", async () => {
  pages.want(0, 20);
  pages.refresh();
  await server.answer();
  expect(pages.at(3)?.asked).toBe(1);
  await server.answer();
  expect(pages.at(3)?.asked).toBe(2);
});

test("the least recently used pages are dropped", async () => {
  for (let number = 0; number < 80; number++) {
    pages.want(number * PAGE, number * PAGE + 10);
    await server.answer();
    expect(pages.at(number * PAGE)).toBeDefined();
  }
  expect(pages.at(0)).toBeUndefined();
  expect(pages.at(78 * PAGE)).toBeDefined();
});

test("a failure is a sentence, and the next visible range tries again", async () => {
  server.total = -1;
  pages.want(0, 20);
  await server.answer();
  expect(pages.failure.value).toBe("gone");
  server.total = 100_000;
  pages.want(0, 21);
  await server.answer();
  expect(pages.failure.value).toBeUndefined();
  expect(pages.at(0)).toBeDefined();
});

test("an empty answer is not requested again and again", async () => {
  server.total = 0;
  pages.want(0, 20);
  await server.answer();
  await server.answer();
  expect(server.asked).toHaveLength(1);
});

test("an answer after the end is dropped", async () => {
  pages.want(0, 20);
  pages.stop();
  await server.answer();
  expect(pages.at(0)).toBeUndefined();
});
