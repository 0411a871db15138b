/** What is wrong with a term of a filter, and what a reader may want to write; see model/filters.ts. */
import { CRITERIA } from "../api/generated/filters";
import type { Kind, ListName } from "../api/routes";
import {
  COMPARED,
  type Criterion,
  criterionOf,
  isComparison,
  readTerm,
  type Term,
  writeTerm,
} from "./filters";

/** A value that rows have, and how many. */
export interface Known {
  readonly value: string;
  readonly count: number;
}

export interface Suggestion {
  /** What the text in the field becomes. */
  readonly text: string;
  readonly note: string;
  /** Whether it is a whole term. */
  readonly isWhole: boolean;
}

const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?$/;
const RANGE = /^(?=.*\d)\d{0,15}(\.\.\d{0,15})?$/;
const MOST = 12;

/** The filters of a list. */
export function criteriaOf(list: ListName): readonly Criterion[] {
  return CRITERIA.filter(({ meaning }) => meaning[list] !== "");
}

/** The things whose names the text in the field can be completed to; undefined for none. */
export function thingsOf(text: string): Kind | undefined {
  const term = readTerm(text);
  return (term && criterionOf(term.word)?.things) || undefined;
}

/** Why a text is no term of a list's filter; undefined if it is one. */
export function wrongWith(text: string, list: ListName): string | undefined {
  const term = readTerm(text);
  if (term === undefined) return `“${text}” has no word before it, such as op: or name:.`;
  if (isComparison(term)) return wrongNumber(term);
  const criterion = criterionOf(term.word);
  if (criterion === undefined) return unknownWord(term, list);
  if (criterion.meaning[list] === "") return `${term.word}: filters graph executions only.`;
  if (term.sign !== ":" && term.sign !== "=")
    return `${term.word} is not a number: write ${term.word}:${term.value || "…"}`;
  if (term.value === "") return `${term.word}: needs a value: the ${criterion.meaning[list]}.`;
  return wrongValue(term, criterion);
}

function unknownWord({ word }: Term, list: ListName): string {
  const near = nearest(word, [...criteriaOf(list).map((one) => one.word), ...COMPARED]);
  return `There is no filter “${word}”${near === undefined ? "." : `: did you mean ${near}?`}`;
}

function wrongNumber({ word, sign, value }: Term): string | undefined {
  if (sign === ":") return `${word} is a number: write ${word}>${value || "0"} or ${word}<${value || "0"}`;
  return NUMBER.test(value) ? undefined : `${word}${sign} needs a number such as 1e4, not “${value}”.`;
}

function wrongValue({ word, sign, value }: Term, { kind, choices }: Criterion): string | undefined {
  switch (kind) {
    case "choice":
      if ((choices as readonly string[]).includes(value)) return undefined;
      return `${word}: is ${choices.join(", ")}, not “${value}”.`;
    case "regex":
      return sign === "=" || isRegex(value) ? undefined : `“${value}” is not a regular expression.`;
    case "range":
      return RANGE.test(value) ? undefined : `${word}: needs numbers such as 3..9, 3.. or 3, not “${value}”.`;
    case "number":
      return NUMBER.test(value) ? undefined : `${word}: needs a number, not “${value}”.`;
    default:
      return undefined;
  }
}

function isRegex(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

/** What the text in the field can become; `values` are those of `thingsOf(text)`. */
export function complete(text: string, list: ListName, values: readonly Known[] = []): readonly Suggestion[] {
  const term = readTerm(text);
  if (term === undefined) return [...words(text, list), ...plain(text, list)].slice(0, MOST);
  const criterion = criterionOf(term.word);
  if (criterion === undefined || criterion.meaning[list] === "") return [];
  const offered = [
    ...criterion.choices.map((value) => ({ value, note: "" })),
    ...values.map(({ value, count }) => ({ value, note: count.toLocaleString("en-US") })),
  ];
  const sign = criterion.kind === "regex" ? "=" : ":";
  const low = term.value.toLowerCase();
  return offered
    .filter(({ value }) => value.toLowerCase().includes(low))
    .slice(0, MOST)
    .map(({ value, note }) => ({ text: writeTerm({ word: term.word, sign, value }), note, isWhole: true }));
}

/** The words that begin with a text, else those near it. */
function words(text: string, list: ListName): readonly Suggestion[] {
  const low = text.toLowerCase();
  const all = [
    ...criteriaOf(list).map((one) => ({ word: one.word, text: `${one.word}:`, note: one.meaning[list] })),
    ...COMPARED.map((word) => ({ word, text: `${word}>`, note: "a number" })),
  ];
  const fits = all.filter(({ word }) => word.startsWith(low));
  const near = nearest(
    low,
    all.map(({ word }) => word),
  );
  const shown = fits.length > 0 ? fits : all.filter(({ word }) => word === near);
  return shown.map(({ text, note }) => ({ text, note, isWhole: false }));
}

/** A text without a word may be a part of a name. */
function plain(text: string, list: ListName): readonly Suggestion[] {
  if (text === "") return [];
  const found = ["name", "op", "layer", "fn"].map(criterionOf).filter((one) => one?.meaning[list]);
  return found.map((one) => ({
    text: writeTerm({ word: one?.word ?? "", sign: ":", value: text }),
    note: one?.meaning[list] ?? "",
    isWhole: true,
  }));
}

/** The word that is most like another one; undefined when none is. */
export function nearest(word: string, others: readonly string[]): string | undefined {
  const most = word.length < 4 ? 1 : 2;
  const near = others
    .map((other) => ({ other, steps: distance(word.toLowerCase(), other) }))
    .filter(({ steps }) => steps <= most)
    .sort((a, b) => a.steps - b.steps);
  return near[0]?.other;
}

/** How many letters must be changed, added, left out or swapped with the next one. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      rows[i]?.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same, swapped));
    }
  }
  return at(a.length, b.length);
}
