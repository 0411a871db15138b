/** Sentences of the server in parts, each with the way it is drawn. */
import type { WirePhrase } from "../api/answers";
import { linkTarget, type Target } from "./neighbourhood";

export type Phrase =
  | { readonly kind: "text" | "code" | "number"; readonly text: string }
  | { readonly kind: "link"; readonly text: string; readonly target: Target };

/** Phrases of a role that is not known, and links that lead nowhere, become text. */
export function phrasesOf(wire: readonly WirePhrase[]): readonly Phrase[] {
  return wire.map(({ role, text, target: wireTarget }) => {
    if (role === "code" || role === "number") return { kind: role, text };
    const target = linkTarget(wireTarget);
    return role === "link" && target.kind !== "nowhere"
      ? { kind: "link", text, target }
      : { kind: "text", text };
  });
}

/** Plain sentences in parts: what stands in backticks is code. */
export function proseOf(sentences: string): readonly Phrase[] {
  return sentences
    .split("`")
    .map((text, i): Phrase => ({ kind: i % 2 === 1 ? "code" : "text", text }))
    .filter(({ text }) => text !== "");
}
