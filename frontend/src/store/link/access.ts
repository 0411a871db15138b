/**
 * The key that commands need. It comes with the address of the page, or the reader pastes it when a command
 * needs it; it is kept for the tab of the browser, and in no link.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Keys } from "../../api/fetch";
import { remember, remembered } from "../../base/host";
import { keyIn, withoutKey } from "../../model/link";

/** What the reader is asked: for the key, or for another one because this TensorBoard has another. */
export type KeyQuestion = "missing" | "wrong";

export interface Access extends Keys {
  /** What the reader is asked now. */
  readonly question: ReadonlySignal<KeyQuestion | undefined>;
  /** Answers the question with what was pasted: a key, or a link with one. Without it, the command is left. */
  give(pasted?: string): void;
  /** Takes the key out of an address; returns the rest, or undefined when there is none. */
  takeFrom(hash: string): string | undefined;
}

const NAME = "key";

export function createAccess(): Access {
  let key = remembered(NAME, "sessionStorage");
  let answer: ((key: string | undefined) => void) | undefined;
  let asked: Promise<string | undefined> | undefined;
  const question = signal<KeyQuestion | undefined>(undefined);
  function keep(given: string): void {
    key = given;
    remember(NAME, given, "sessionStorage");
  }
  return {
    question,
    current: () => key,
    ask(isWrong) {
      question.value = isWrong ? "wrong" : "missing";
      asked ??= new Promise((resolve) => {
        answer = resolve;
      });
      return asked;
    },
    give(pasted) {
      const given = pasted === undefined ? undefined : (keyIn(pasted) ?? pasted.trim());
      if (given) keep(given);
      question.value = undefined;
      asked = undefined;
      answer?.(given || undefined);
    },
    takeFrom(hash) {
      const given = keyIn(hash);
      if (given === undefined) return undefined;
      if (given !== "") keep(given);
      return withoutKey(hash);
    },
  };
}
