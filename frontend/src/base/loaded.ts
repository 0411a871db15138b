/** A value that arrives later: loading (perhaps with the previous value to show), ready or failed. */

export type Loaded<T> =
  | { readonly kind: "loading"; readonly stale: T | undefined }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string };

/** The value that can be shown now: the ready one, or the previous one while another is loading. */
export function shown<T>(loaded: Loaded<T> | undefined): T | undefined {
  if (loaded === undefined || loaded.kind === "failed") return undefined;
  return loaded.kind === "ready" ? loaded.value : loaded.stale;
}

/** The same with another value. */
export function mapLoaded<A, B>(loaded: Loaded<A> | undefined, make: (value: A) => B): Loaded<B> | undefined {
  if (loaded === undefined || loaded.kind === "failed") return loaded;
  if (loaded.kind === "ready") return { kind: "ready", value: make(loaded.value) };
  return { kind: "loading", stale: loaded.stale === undefined ? undefined : make(loaded.stale) };
}

/** The sentence of a failure, for any thrown value. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For the branch that an exhaustive switch never takes. */
export function never(value: never): never {
  throw new Error(`unexpected ${JSON.stringify(value)}`);
}
