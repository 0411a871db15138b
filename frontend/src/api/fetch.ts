/** Requests to the server: relative addresses, checked answers, and failures with a sentence. */
import { type Check, object, text } from "./check";

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
  /** Sends what changes something; `token` is that of `live/programs`. */
  post<T>(route: string, body: unknown, token: string, check: Check<T>): Promise<T>;
}

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

export function makeClient(fetcher: Fetch): Client {
  async function answer(url: string, init: Init): Promise<Response> {
    const response = await reach(fetcher, url, init);
    if (!response.ok) throw new RouteError(await reason(response), response.status);
    return response;
  }
  const get = (route: string, params: Params, signal?: AbortSignal) =>
    answer(address(route, params), signal ? { signal } : {});
  return {
    json: async (route, params, check, signal) =>
      check(await (await get(route, params, signal)).json(), route),
    bytes: async (route, params, signal) => (await get(route, params, signal)).arrayBuffer(),
    post: async (route, body, token, check) =>
      check(await (await answer(route, posted(body, token))).json(), route),
  };
}

/** A page of another site can send neither this content type nor the header. */
function posted(body: unknown, token: string): Init {
  const headers = { "Content-Type": "application/json", "X-TB-Debugger-Token": token };
  return { method: "POST", headers, body: JSON.stringify(body) };
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
