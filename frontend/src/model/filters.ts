/**
 * The grammar of the filter field: `op=Log health:nan layer:dense_1 max>1e4 process:"vm (process 7)"`.
 *
 * A term is a word, a sign and a value. After a colon a value is what the route takes, such as a regular
 * expression; after `=` it is the whole name. Numbers are compared by `< <= = >= >`. A value with a blank is
 * quoted. All terms must hold, and a word is there once, but for comparisons. `model/completion.ts` says what
 * is wrong with a term.
 */
import { COMPUTED, CRITERIA } from "../api/generated/filters";
import { NUMBERS } from "../api/generated/modes";
import { exactly } from "../base/text";

export type Sign = ":" | "=" | "<" | "<=" | ">" | ">=";

export interface Term {
  readonly word: string;
  readonly sign: Sign;
  readonly value: string;
}

/** Terms that must all hold. */
export type Filter = readonly Term[];

export const NO_FILTER: Filter = [];

/** How rows are sorted. */
export interface RowOrder {
  readonly column: string;
  readonly descending: boolean;
}

export type Criterion = (typeof CRITERIA)[number];

/** The numbers that can be compared. */
export const COMPARED: readonly string[] = [...NUMBERS, ...COMPUTED];

const BY_WORD: ReadonlyMap<string, Criterion> = new Map(CRITERIA.map((one) => [one.word, one]));
const TOKEN = /(?:[^\s"]|"(?:[^"\\]|\\[\s\S])*"?)+/g;
const TERM = /^([A-Za-z_]+)(<=|>=|[:=<>])([\s\S]*)$/;

export function criterionOf(word: string): Criterion | undefined {
  return BY_WORD.get(word);
}

export function isComparison({ word }: Term): boolean {
  return COMPARED.includes(word);
}

/** The parts of a text between blanks that are not in quotes. */
export function tokens(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}

/** Undefined for a text that is not a word, a sign and a value. */
export function readTerm(token: string): Term | undefined {
  const [, word = "", sign = "", value = ""] = TERM.exec(token) ?? [];
  return word === "" ? undefined : { word, sign: sign as Sign, value: unquoted(value) };
}

export function writeTerm({ word, sign, value }: Term): string {
  const isPlain = /^[^\s"=][^\s"]*$/.test(value);
  return `${word}${sign}${isPlain ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`}`;
}

function unquoted(value: string): string {
  const quoted = /^"((?:[^"\\]|\\[\s\S])*)"?$/.exec(value)?.[1];
  return quoted === undefined ? value : quoted.replace(/\\([\\"])/g, "$1");
}

export function writeFilter(filter: Filter): string {
  return filter.map(writeTerm).join(" ");
}

/** The terms of a text, as a link has it; what is no term is left out. */
export function readFilter(text: string): Filter {
  return tokens(text)
    .map(readTerm)
    .filter((term) => term !== undefined)
    .reduce(withTerm, NO_FILTER);
}

/** The filter with a term, which replaces the one that it excludes. */
export function withTerm(filter: Filter, term: Term): Filter {
  const place = filter.findIndex((other) => isSamePlace(other, term));
  return place < 0 ? [...filter, term] : filter.with(place, term);
}

export function withoutTerm(filter: Filter, term: Term): Filter {
  return filter.filter((other) => !isSamePlace(other, term));
}

/** Whether a filter can have only one of them. */
function isSamePlace(a: Term, b: Term): boolean {
  return a.word === b.word && (!isComparison(a) || a.sign[0] === b.sign[0]);
}

/** The value of a word in a filter. */
export function valueIn(filter: Filter, word: string): string | undefined {
  return filter.find((term) => term.word === word)?.value;
}

/** The parameters of the routes. Words that they do not know are left out. */
export function paramsOf(filter: Filter): Readonly<Record<string, string>> {
  const named = filter.flatMap((term) => {
    const criterion = criterionOf(term.word);
    if (criterion === undefined) return [];
    const isExact = criterion.kind === "regex" && term.sign === "=";
    return [[criterion.name, isExact ? exactly(term.value) : term.value] as const];
  });
  const compared = filter.filter(isComparison).map(({ word, sign, value }) => word + sign + value);
  return { ...Object.fromEntries(named), ...(compared.length > 0 && { where: compared.join(",") }) };
}

/** `-max` sorts from large to small. */
export function readOrder(text: string): RowOrder {
  return { column: text.replace(/^-/, ""), descending: text.startsWith("-") };
}

export function writeOrder({ column, descending }: RowOrder): string {
  return `${descending ? "-" : ""}${column}`;
}

/** The parameters of the routes for an order. */
export function orderParams(order: RowOrder | undefined): Readonly<Record<string, string>> {
  if (order === undefined) return {};
  return { sort: order.column, ...(order.descending && { descending: "true" }) };
}
