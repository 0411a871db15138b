/** The summary of a tensor, from any route, and its words. */
import type { WireHealth } from "../api/answers";
import { COUNTS, type CountName, MOMENTS, type MomentName } from "../api/generated/modes";
import type { GraphExecutionIndex } from "../base/ids";
import { counted, grouped, significant } from "../base/text";
import { shapeText } from "./names";

/** The kinds of a number, in the order in which every table and bar shows them. */
export const KINDS: readonly { readonly name: CountName; readonly symbol: string; readonly bad: boolean }[] =
  [
    { name: "neg_inf", symbol: "−∞", bad: true },
    { name: "negative", symbol: "−", bad: false },
    { name: "zero", symbol: "0", bad: false },
    { name: "positive", symbol: "+", bad: false },
    { name: "pos_inf", symbol: "+∞", bad: true },
    { name: "nan", symbol: "NaN", bad: true },
  ];

/**
 * Statistics of the finite values; undefined when the mode does not measure them, or when no value is finite.
 */
export type Numerics = Readonly<Partial<Record<MomentName, number | undefined>>>;

/** The numbers of a tensor. A count is undefined when the mode does not measure it. */
export interface Summary {
  readonly graphExecution?: GraphExecutionIndex | undefined;
  readonly mode?: number | undefined;
  readonly dtype?: string | undefined;
  readonly rank?: number | undefined;
  readonly shape?: string | undefined;
  readonly size?: number | undefined;
  readonly counts: Readonly<Partial<Record<CountName, number | undefined>>>;
  readonly numerics?: Numerics | undefined;
  /** Whether it has NaN or infinity; undefined when it was not measured. */
  readonly bad?: boolean | undefined;
}

export const NOTHING_KNOWN: Summary = { counts: {} };

export function badCount(summary: Summary): number {
  return KINDS.reduce((sum, { name, bad }) => sum + (bad ? (summary.counts[name] ?? 0) : 0), 0);
}

export function isBad(summary: Summary | undefined): boolean {
  return summary !== undefined && (summary.bad ?? badCount(summary) > 0);
}

/**
 * The parts of a health bar, each with its share of the whole. A bad kind that occurs has at least `least`.
 */
export function shares(summary: Summary, least = 0.06): readonly { name: CountName; share: number }[] {
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
  return parts.map(({ name, symbol }) => `${grouped(summary.counts[name] ?? 0)} ${symbol}`).join(", ");
}

/** The whole summary in words, for tooltips and screen readers. */
export function summaryWords(summary: Summary): string {
  const known = KINDS.filter(({ name }) => (summary.counts[name] ?? 0) > 0);
  const counts = known.map(({ name, symbol }) => `${grouped(summary.counts[name] ?? 0)} ${symbol}`);
  const size = summary.size === undefined ? [] : [counted(summary.size, "value")];
  const head = [summary.dtype, summary.shape].filter((part) => part !== undefined).join(" ");
  const verdict = counts.length > 0 ? counts.join(", ") : summary.bad === true ? "has NaN or ∞" : undefined;
  const words = verdict ?? (summary.bad === false ? "no NaN or ∞" : "");
  return [head, ...size, words, ...numericsWords(summary)].filter(Boolean).join(" · ");
}

/** "min −2.5", "max 3", "mean 0.25", "variance 1.5": those that are known. */
export function numericsWords({ numerics }: Summary): readonly string[] {
  const known = MOMENTS.map((name) => ({ name, n: numerics?.[name] }));
  return known.flatMap(({ name, n }) => (n === undefined ? [] : [`${name} ${significant(n)}`]));
}

/** An object with a value for each name. */
export function byName<K extends string, V>(names: readonly K[], value: (name: K) => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, V>;
}

export function fromWire(wire: WireHealth | undefined): Summary | undefined {
  if (wire === undefined) return undefined;
  return {
    graphExecution: wire.graph_execution_index,
    mode: wire.tensor_debug_mode,
    dtype: wire.dtype,
    rank: wire.rank,
    shape: wire.shape === undefined ? undefined : shapeText(wire.shape),
    size: wire.size,
    counts: byName(COUNTS, (name) => wire[name]),
    numerics: byName(MOMENTS, (name) => wire[name]),
    bad: wire.bad,
  };
}
