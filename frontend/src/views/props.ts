/** What the views take. */
import type { Store } from "../store/store";

/** The store, and what else a view takes. */
export type With<P = unknown> = { readonly store: Store } & Readonly<P>;
