/** A value that comes from elsewhere: under way (perhaps with the previous one to show meanwhile), there, or failed. */

export type Loaded<T> =
  | { readonly kind: "loading"; readonly stale: T | undefined }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string };

/** What can be shown now, were it the previous value. */
export function shown<T>(loaded: Loaded<T> | undefined): T | undefined {
  if (loaded === undefined || loaded.kind === "failed") return undefined;
  return loaded.kind === "ready" ? loaded.value : loaded.stale;
}

/** The sentence of a failure, whatever was thrown. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For the branch that an exhaustive switch never takes. */
export function never(value: never): never {
  throw new Error(`unexpected ${JSON.stringify(value)}`);
}
