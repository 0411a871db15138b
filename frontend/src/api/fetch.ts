/** Requests to the server: relative addresses, checked answers, and failures with a sentence. */
import { type Check, object, optional, text, truth } from "./check";

/** A page of another site can send neither this header nor JSON. */
const KEY_HEADER = "X-TB-Debugger-Key";

/** A failed request, with the server's sentence; `status` is 0 when the server could not be reached. */
export class RouteError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export type Params = Readonly<Record<string, string | number | undefined>>;
/** The part of `fetch`'s options that is used. */
export interface Init {
  readonly signal?: AbortSignal;
  readonly method?: "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}
/** `fetch`, or a replacement in a test. */
export type Fetch = (url: string, init: Init) => Promise<Response>;

/** Sends requests to routes; the promise fails with a sentence. */
export interface Client {
  json<T>(route: string, params: Params, check: Check<T>, signal?: AbortSignal): Promise<T>;
  bytes(route: string, params: Params, signal?: AbortSignal): Promise<ArrayBuffer>;
  /** Sends what changes something; asks for the key that it needs. */
  post<T>(route: string, body: unknown, check: Check<T>): Promise<T>;
}

/** The key that commands need. */
export interface Keys {
  /** The key of this tab; undefined while it has none. */
  current(): string | undefined;
  /** Asks the reader, also when the key of the tab is wrong; undefined when the command is left. */
  ask(isWrong: boolean): Promise<string | undefined>;
}

const NO_KEYS: Keys = { current: () => undefined, ask: async () => undefined };
const failure = object({ error: text });

/**
 * `route?a=1`. It is relative, because TensorBoard gives the document a base that ends in the plugin's
 * prefix.
 */
export function address(route: string, params: Params): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value !== undefined) query.set(key, String(value));
  const tail = query.toString();
  return tail === "" ? route : `${route}?${tail}`;
}

export function makeClient(fetcher: Fetch, keys: Keys = NO_KEYS): Client {
  async function answer(url: string, init: Init): Promise<Response> {
    const response = await reach(fetcher, url, init);
    if (!response.ok) throw new RouteError(await reason(response), response.status);
    return response;
  }
  const get = (route: string, params: Params, signal?: AbortSignal) => {
    const key = keys.current();
    const headers = key === undefined ? {} : { headers: { [KEY_HEADER]: key } };
    return answer(address(route, params), { ...headers, ...(signal ? { signal } : {}) });
  };
  async function send(route: string, body: string): Promise<Response> {
    for (let key = keys.current() ?? (await keys.ask(false)); key !== undefined; key = await keys.ask(true)) {
      const headers = { "Content-Type": "application/json", [KEY_HEADER]: key };
      const response = await reach(fetcher, route, { method: "POST", headers, body });
      if (response.ok) return response;
      if (!(await needsKey(response))) throw new RouteError(await reason(response), response.status);
    }
    throw new RouteError("Nothing was done: commands need the key of this TensorBoard.", 403);
  }
  return {
    json: async (route, params, check, signal) =>
      check(await (await get(route, params, signal)).json(), route),
    bytes: async (route, params, signal) => (await get(route, params, signal)).arrayBuffer(),
    post: async (route, body, check) => check(await (await send(route, JSON.stringify(body))).json(), route),
  };
}

/** Whether a request was refused because its key is not that of the server. */
async function needsKey(response: Response): Promise<boolean> {
  if (response.status !== 403) return false;
  try {
    const { needs_key } = object({ needs_key: optional(truth) })(await response.clone().json(), "failure");
    return needs_key === true;
  } catch {
    return false;
  }
}

async function reach(fetcher: Fetch, url: string, init: Init): Promise<Response> {
  try {
    return await fetcher(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new RouteError("TensorBoard does not answer. Is it still running?", 0);
  }
}

async function reason(response: Response): Promise<string> {
  try {
    return failure(await response.json(), "failure").error;
  } catch {
    return `TensorBoard answered ${response.status} ${response.statusText}`.trim();
  }
}
