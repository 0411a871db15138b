/** What the views take of the store: facts, derived values and verbs, each by its name. */
import type { Store } from "../store/store";

/** The slices that are a part of the store as a whole. */
type Slice =
  | "access"
  | "alertGroups"
  | "comparison"
  | "dock"
  | "files"
  | "glance"
  | "graph"
  | "live"
  | "livePanel"
  | "rules"
  | "runList"
  | "steps"
  | "tables"
  | "timeline";
type NameIn<S extends Slice> = keyof Store[S] & string;
type Name = keyof Store | { [S in Slice]: `${S}.${NameIn<S>}` }[Slice];

/** A view that takes parts of the store, or a function that does with its first argument. */
type User = (first: never, ...rest: never[]) => unknown;

/** The parts of the store with these names, and those that these views and functions take. */
export type Of<N extends Name | User> = Parts<NameOf<N>>;
type NameOf<N> = N extends Name ? N : N extends (first: infer F, ...rest: never[]) => unknown ? In<F> : never;
type In<F> = F extends { readonly store: infer S } ? NamesIn<S> : NamesIn<F>;
type NamesIn<S> = { [K in keyof S & keyof Store]: S[K] extends Store[K] ? K : Inner<K, S[K]> }[keyof S &
  keyof Store];
type Inner<K, S> = K extends Slice ? `${K}.${keyof S & NameIn<K>}` : never;
type Parts<N extends Name> = Pick<Store, Extract<N, keyof Store>> & {
  readonly [S in Slice as N extends `${S}.${string}` ? S : never]: Pick<Store[S], Inside<S, N>>;
};
type Inside<S extends Slice, N> = N extends `${S}.${infer K extends NameIn<S>}` ? K : never;

/** What a view takes: parts of the store, such as "run" or "live.program", and what else; without names, all. */
export type With<N extends Name | User = keyof Store, P = unknown> = { readonly store: Of<N> } & Readonly<P>;

/** A long list of what is taken, in groups. */
export type Takes<A, B, C = never, D = never, E = never> = A | B | C | D | E;
