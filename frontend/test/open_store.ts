/** Opens a store on a server of the test; it is stopped by the next one, or at the end of the test. */
import { afterEach, test } from "vitest";
import { type Fetch, type Keys, makeClient } from "../src/api/fetch";
import { makeApi } from "../src/api/routes";
import type { Link } from "../src/model/link";
import { createStore } from "../src/store/store";
import { FakeTimer } from "./fake_timer";
import type { Answer, Route } from "./fixture/answer";

let stop = () => {};
afterEach(() => stop());

export async function pause(times = 1): Promise<void> {
  for (let i = 0; i < times; i++) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Opens a store at the place of a link. */
export async function openStore(fetcher: Fetch, link: Link = {}, keys?: Keys) {
  stop();
  const timer = new FakeTimer();
  const store = createStore(makeApi(makeClient(fetcher, keys)), timer);
  stop = store.start(link);
  /** Waits for what was begun, and until the store asks for nothing any more. */
  const settled = async (begun?: unknown) => {
    await begun;
    for (let still = 0; still < 8; still = store.busy.value ? 0 : still + 1) await pause();
  };
  /** Lets the store act that waits for a time, and waits until it has its answers. */
  const tick = (time = timer.time) => {
    timer.time = time;
    return settled(timer.fire());
  };
  await settled();
  return { store, timer, settled, tick };
}

export function response(found: Answer): Response {
  if ("bytes" in found) return new Response(found.bytes);
  return Response.json(found.json, { status: found.status ?? 200 });
}

/** The route and the query of an address. */
export function asked(url: string): [string, URLSearchParams] {
  const { pathname, searchParams } = new URL(url, "http://host/");
  return [pathname.slice(1), searchParams];
}

/** A server that answers by a function of the route and the query. */
export function answering(answer: (...asked: [string, ...Parameters<Route>]) => Answer): Fetch {
  return async (url) => response(answer(...asked(url)));
}

/** Returns what defines tests that begin with something opened for each of them. */
export function testOn<T>(open: () => Promise<T>) {
  return (name: string, run: (opened: T) => Promise<void>) => test(name, async () => run(await open()));
}
