/** The summary of a tensor, from any route, and its words. */
import type { WireHealth } from "../api/answers";
import type { GraphExecutionIndex } from "../base/ids";
import { counted, significant } from "../base/text";
import { shapeText } from "./names";

export type KindName = "negInf" | "negative" | "zero" | "positive" | "posInf" | "nan";

/** The kinds of bad values. */
export type BadKind = "negInf" | "posInf" | "nan";

/** The kinds of a number, in the order in which every table and bar shows them. */
export const KINDS: readonly { readonly name: KindName; readonly symbol: string; readonly bad: boolean }[] = [
  { name: "negInf", symbol: "−∞", bad: true },
  { name: "negative", symbol: "−", bad: false },
  { name: "zero", symbol: "0", bad: false },
  { name: "positive", symbol: "+", bad: false },
  { name: "posInf", symbol: "+∞", bad: true },
  { name: "nan", symbol: "NaN", bad: true },
];

/**
 * Statistics of the finite values; undefined when the mode does not measure them, or when no value is finite.
 */
export interface Numerics {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly mean?: number | undefined;
  readonly variance?: number | undefined;
}

/** The numbers of a tensor. A count is undefined when the mode does not measure it. */
export interface Summary {
  readonly trace?: GraphExecutionIndex | undefined;
  readonly mode?: number | undefined;
  readonly dtype?: string | undefined;
  readonly rank?: number | undefined;
  readonly shape?: string | undefined;
  readonly size?: number | undefined;
  readonly counts: Readonly<Partial<Record<KindName, number | undefined>>>;
  readonly numerics?: Numerics | undefined;
  /** Whether it has NaN or infinity; undefined when it was not measured. */
  readonly bad?: boolean | undefined;
}

export const NOTHING_KNOWN: Summary = { counts: {} };

export function badCount(summary: Summary): number {
  const { negInf = 0, posInf = 0, nan = 0 } = summary.counts;
  return negInf + posInf + nan;
}

export function isBad(summary: Summary | undefined): boolean {
  return summary !== undefined && (summary.bad ?? badCount(summary) > 0);
}

/**
 * The parts of a health bar, each with its share of the whole. A bad kind that occurs has at least `least`.
 */
export function shares(summary: Summary, least = 0.06): readonly { name: KindName; share: number }[] {
  const counts = KINDS.map(({ name, bad }) => ({ name, bad, n: summary.counts[name] ?? 0 })).filter(
    ({ n }) => n > 0,
  );
  const total = Math.max(
    summary.size ?? 0,
    counts.reduce((sum, { n }) => sum + n, 0),
  );
  if (total === 0) return [];
  const raised = counts.map(({ name, bad, n }) => ({
    name,
    share: bad ? Math.max(n / total, least) : n / total,
  }));
  const sum = raised.reduce((all, { share }) => all + share, 0);
  return sum <= 1 ? raised : raised.map(({ name, share }) => ({ name, share: share / sum }));
}

/** "200 −∞, 3 NaN" */
export function badWords(summary: Summary): string {
  const parts = KINDS.filter(({ bad, name }) => bad && (summary.counts[name] ?? 0) > 0);
  if (parts.length === 0) return "NaN or ∞";
  return parts
    .map(({ name, symbol }) => `${(summary.counts[name] ?? 0).toLocaleString("en-US")} ${symbol}`)
    .join(", ");
}

/** The whole summary in words, for tooltips and screen readers. */
export function summaryWords(summary: Summary): string {
  const known = KINDS.filter(({ name }) => (summary.counts[name] ?? 0) > 0);
  const counts = known.map(
    ({ name, symbol }) => `${(summary.counts[name] ?? 0).toLocaleString("en-US")} ${symbol}`,
  );
  const size = summary.size === undefined ? [] : [counted(summary.size, "value")];
  const head = [summary.dtype, summary.shape].filter((part) => part !== undefined).join(" ");
  const verdict = counts.length > 0 ? counts.join(", ") : summary.bad === true ? "has NaN or ∞" : undefined;
  const words = verdict ?? (summary.bad === false ? "no NaN or ∞" : "");
  return [head, ...size, words, ...numericsWords(summary)].filter(Boolean).join(" · ");
}

/** "min −2.5", "max 3", "mean 0.25", "variance 1.5": those that are known. */
export function numericsWords({ numerics }: Summary): readonly string[] {
  const { min, max, mean, variance } = numerics ?? {};
  const known = { min, max, mean, variance };
  return Object.entries(known).flatMap(([name, n]) => (n === undefined ? [] : [`${name} ${significant(n)}`]));
}

export function fromWire(wire: WireHealth | undefined): Summary | undefined {
  if (wire === undefined) return undefined;
  return {
    trace: wire.graph_execution_index,
    mode: wire.tensor_debug_mode,
    dtype: wire.dtype,
    rank: wire.rank,
    shape: wire.shape === undefined ? undefined : shapeText(wire.shape),
    size: wire.size,
    counts: {
      negInf: wire.neg_inf,
      negative: wire.negative,
      zero: wire.zero,
      positive: wire.positive,
      posInf: wire.pos_inf,
      nan: wire.nan,
    },
    numerics: { min: wire.min, max: wire.max, mean: wire.mean, variance: wire.variance },
    bad: wire.bad,
  };
}
