/** What the numbers of an op's inputs and of its output say for and against a reason. */
import { counted, grouped } from "../base/text";
import { type BadKind, isBad, KINDS, type KindName, type Summary } from "./health";

export interface CauseInput {
  readonly name: string;
  readonly summary: Summary | undefined;
}

/** An input that is to blame and what it held: "200 zeros". */
export interface Blame {
  readonly input: CauseInput;
  readonly held: string;
}

/**
 * A list when it was this, with the inputs to blame where some are; "maybe" when the numbers do not say; undefined when
 * they say that it was not this.
 */
export type Finding = readonly Blame[] | "maybe" | undefined;

/** Looks at the inputs and at the output, which is bad in a way that no input is. */
export type Evidence = (inputs: readonly CauseInput[], output: Summary) => Finding;

const WORDS: Readonly<Record<KindName, (n: number) => string>> = {
  negInf: (n) => `${grouped(n)} −∞`,
  negative: (n) => counted(n, "negative value"),
  zero: (n) => counted(n, "zero"),
  positive: (n) => counted(n, "positive value"),
  posInf: (n) => `${grouped(n)} +∞`,
  nan: (n) => `${grouped(n)} NaN`,
};

/** Types whose values are never NaN or infinite. */
const NEVER_BAD = /^(?:q?u?int\d|bool|string|resource|variant)/;

const BAD: ReadonlySet<KindName> = new Set(KINDS.filter(({ bad }) => bad).map(({ name }) => name));

const count = (input: CauseInput | undefined, kind: KindName) => input?.summary?.counts[kind];

/** Undefined where it is not known. */
export function knownFinite({ summary }: CauseInput): boolean | undefined {
  if (summary?.dtype !== undefined && NEVER_BAD.test(summary.dtype)) return true;
  return summary?.bad === undefined ? undefined : !summary.bad;
}

/** Nothing in the inputs is to blame; it must have been this, where all of them were measured. */
export const measured: Evidence = (inputs) =>
  inputs.length === 0 || inputs.some((input) => knownFinite(input) === undefined) ? "maybe" : [];

export const always: Evidence = () => [];

/** All that went in was finite. */
export const finiteIn: Evidence = (inputs, output) =>
  inputs.some((input) => knownFinite(input) === false) ? undefined : measured(inputs, output);

/** The input in the slot holds some of the kind. */
export function holds(slot: number, kind: KindName): Evidence {
  return (inputs) => {
    const input = inputs[slot];
    if (input === undefined) return "maybe";
    const n = count(input, kind) ?? (BAD.has(kind) && knownFinite(input) ? 0 : undefined);
    if (n === undefined) return "maybe";
    return n > 0 ? [{ input, held: WORDS[kind](n) }] : undefined;
  };
}

export const both =
  (first: Evidence, second: Evidence): Evidence =>
  (inputs, output) => {
    const [a, b] = [first(inputs, output), second(inputs, output)];
    if (a === undefined || b === undefined) return undefined;
    return a === "maybe" || b === "maybe" ? "maybe" : [...a, ...b];
  };

/** One of them is enough; what both blame is to blame. */
export const either =
  (first: Evidence, second: Evidence): Evidence =>
  (inputs, output) => {
    const [a, b] = [first(inputs, output), second(inputs, output)];
    if (a === undefined || b === undefined) return a ?? b;
    if (a === "maybe" || b === "maybe") return a === "maybe" ? b : a;
    return [...a, ...b];
  };

/** No more than a guess where it may have been the other as well. */
export const unless =
  (other: Evidence, evidence: Evidence): Evidence =>
  (inputs, output) => {
    const found = evidence(inputs, output);
    return found === undefined || other(inputs, output) === undefined ? found : "maybe";
  };

/** No more than a guess, whatever the numbers say. */
export const guess = (evidence: Evidence): Evidence => unless(always, evidence);

export const infiniteIn = (slot: number): Evidence => either(holds(slot, "negInf"), holds(slot, "posInf"));

export const below0 = (slot: number): Evidence => either(holds(slot, "negative"), holds(slot, "negInf"));

/** Some input is infinite; a guess where others were not measured. */
export const infinities: Evidence = (inputs, output) => {
  const blames = inputs.flatMap((_, slot) => {
    const found = infiniteIn(slot)(inputs, output);
    return Array.isArray(found) ? (found as readonly Blame[]) : [];
  });
  if (blames.length > 0) return measured(inputs, output) === "maybe" ? "maybe" : blames;
  return inputs.every(knownFinite) ? undefined : "maybe";
};

export const nothingIn: Evidence = ([input]) => {
  if (input?.summary?.size === undefined) return "maybe";
  return input.summary.size === 0 ? [{ input, held: "no value at all" }] : undefined;
};

/** All values of the input in the slot are of the kind. */
export function allAre(slot: number, kind: KindName): Evidence {
  return (inputs, output) =>
    count(inputs[slot], kind) === inputs[slot]?.summary?.size ? holds(slot, kind)(inputs, output) : undefined;
}

/**
 * What is not 0 is divided by 0. Of the zeros under the division those are left out over which a 0 or a NaN stands: there are
 * at most as many of these as the input over it holds and, where 0 / 0 is NaN, as the output does.
 */
export function dividedByZero({
  over,
  under,
  zeroOverZero,
}: {
  readonly over: number;
  readonly under: number;
  readonly zeroOverZero: "nan" | "finite";
}): Evidence {
  return (inputs, output) => {
    const found = holds(under, "zero")(inputs, output);
    const zeros = taken(inputs[under], "zero", output);
    const [zerosOver, nanOver] = [taken(inputs[over], "zero", output), taken(inputs[over], "nan", output)];
    const most = [
      zerosOver === undefined || nanOver === undefined ? undefined : zerosOver + nanOver,
      zeroOverZero === "nan" ? output.counts.nan : undefined,
    ];
    const isSure = most.some((n) => n === 0 || (n !== undefined && zeros !== undefined && zeros > n));
    return found === undefined || isSure ? found : "maybe";
  };
}

/**
 * How many values of the output are made from one of the kind in the input: where a shape is stretched to the other's, each
 * value is taken equally often.
 */
function taken(input: CauseInput | undefined, kind: KindName, output: Summary): number | undefined {
  const [n, size] = [count(input, kind), input?.summary?.size];
  if (n === undefined || n === 0) return n;
  return size === undefined || output.size === undefined ? undefined : (n * output.size) / size;
}

/** The bad kinds of the output that no input has; undefined where it is only known to be bad. */
export function newKinds(inputs: readonly CauseInput[], output: Summary): ReadonlySet<BadKind> | undefined {
  const { negInf, posInf, nan } = output.counts;
  const there = Object.entries({ negInf, posInf, nan }).filter(([, n]) => (n ?? 0) > 0);
  if (there.length === 0) return undefined;
  const carried = (kind: BadKind) => inputs.some((input) => isBad(input.summary) && count(input, kind) !== 0);
  return new Set(there.map(([kind]) => kind as BadKind).filter((kind) => !carried(kind)));
}
