/**
 * Checks that an answer has the shape of the contract. A check takes any value and its path in the answer. It
 * returns the value with its type, or throws an error that names the path.
 *
 * Invariant: answers are checked once, where they arrive. All later code relies on the types.
 */

export type Check<T> = (value: unknown, where: string) => T;
export type Checked<C> = C extends Check<infer T> ? T : never;

function wrong(where: string, expected: string): never {
  throw new Error(`The server's answer is not as agreed: ${where} should be ${expected}.`);
}

export const text: Check<string> = (v, where) => (typeof v === "string" ? v : wrong(where, "a text"));
export const number: Check<number> = (v, where) => (typeof v === "number" ? v : wrong(where, "a number"));
export const truth: Check<boolean> = (v, where) =>
  typeof v === "boolean" ? v : wrong(where, "true or false");

export const numberOrText: Check<number | string> = (v, where) =>
  typeof v === "number" ? v : text(v, where);

/** null and a missing field become undefined. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (v, where) => (v === null || v === undefined ? undefined : check(v, where));
}

export function list<T>(check: Check<T>): Check<readonly T[]> {
  return (v, where) =>
    Array.isArray(v) ? v.map((item, i) => check(item, `${where}[${i}]`)) : wrong(where, "a list");
}

/** A list of this many items, each with its own check. */
export function tuple<C extends readonly Check<unknown>[]>(
  ...checks: C
): Check<{ readonly [K in keyof C]: Checked<C[K]> }> {
  return (v, where) => {
    const items = list((item) => item)(v, where);
    return checks.map((check, i) => check(items[i], `${where}[${i}]`)) as {
      readonly [K in keyof C]: Checked<C[K]>;
    };
  };
}

/** One of some names; any other name, of a later server, becomes "unknown". */
export function oneOf<N extends string>(...names: readonly N[]): Check<N | "unknown"> {
  return (v, where) => names.find((name) => name === text(v, where)) ?? "unknown";
}

export function record<T>(check: Check<T>): Check<ReadonlyMap<string, T>> {
  return (v, where) => {
    if (!isObject(v)) wrong(where, "an object");
    return new Map(Object.entries(v).map(([key, item]) => [key, check(item, `${where}.${key}`)]));
  };
}

export function object<F extends Record<string, Check<unknown>>>(
  fields: F,
): Check<{ readonly [K in keyof F]: Checked<F[K]> }> {
  return (v, where) => {
    if (!isObject(v)) wrong(where, "an object");
    const out: Record<string, unknown> = {};
    for (const [key, check] of Object.entries(fields)) out[key] = check(v[key], `${where}.${key}`);
    return out as { readonly [K in keyof F]: Checked<F[K]> };
  };
}

/** A value of a branded type. */
export function branded<T, B extends T>(check: Check<T>, brand: (value: T) => B): Check<B> {
  return (v, where) => brand(check(v, where));
}

function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}
