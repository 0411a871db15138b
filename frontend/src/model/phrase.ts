/** Sentences in parts, each of which says how it is set. */

/** A bit of a sentence and how it is set. */
export interface Phrase {
  readonly as: "plain" | "code" | "bad";
  readonly text: string;
}

export const plain = (text: string): Phrase => ({ as: "plain", text });
export const code = (text: string): Phrase => ({ as: "code", text });
export const bad = (text: string): Phrase => ({ as: "bad", text });

export function phrasesText(phrases: readonly Phrase[]): string {
  return phrases.map(({ text }) => text).join("");
}
