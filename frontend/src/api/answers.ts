/** The answers of the routes in docs/http-api.md: their checks, and the types of checked answers. */
import type { Run } from "./generated/answers";

export type {
  Health as WireHealth,
  LinkTarget as WireTarget,
  Phrase as WirePhrase,
  RunVerdict as Verdict,
} from "./generated/answers";
export * from "./generated/answers";
export type Runs = ReadonlyMap<string, Run>;
