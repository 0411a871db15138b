/** Gradients by variable and step, as rows of a heat map: what a cell holds, its colour, and words about it. */
import type { GradientFlow, OfVariable } from "../api/curves";
import { type GraphExecutionIndex, graphExecutionIndex } from "../base/ids";
import { counted, grouped, shortNumber } from "../base/text";

/** What a cell may show, by name: its words, the table that leads to the computation, and its number. */
export const MEASURES = {
  gradient_norm: { title: "gradient norm", of: "gradient", isShare: false },
  gradient_zero_share: { title: "share of zeros in the gradient", of: "gradient", isShare: true },
  gradient_largest: { title: "largest magnitude of the gradient", of: "gradient", isShare: false },
  update_ratio: { title: "update over weight", of: "update", isShare: false },
  value_norm: { title: "weight norm", of: "value", isShare: false },
  update_norm: { title: "update norm", of: "update", isShare: false },
} as const satisfies Readonly<Record<string, { title: string; of: OfVariable; isShare: boolean }>>;

export type Measure = keyof typeof MEASURES;

export interface FlowRow {
  readonly variable: string;
  /** The name without what all of them begin with. */
  readonly title: string;
  readonly layer: string | undefined;
  /** The number of each column; NaN where nothing is on record. */
  readonly cells: readonly number[];
  /** Whether there is a NaN or an infinity in a column. */
  readonly bad: readonly boolean[];
}

export interface FlowMap {
  readonly rows: readonly FlowRow[];
  readonly columns: number;
  /** Of the numbers above 0, or of all of a share; undefined without any. */
  readonly range: { readonly low: number; readonly high: number } | undefined;
}

/** A number of a cell; NaN where nothing is on record. */
export function cellOf(flow: GradientFlow, name: string, row: number, column: number): number {
  const table = (key: string) => flow.columns.get(key)?.[row * flow.num_columns + column] ?? Number.NaN;
  if (name !== "update_ratio") return table(name);
  const weight = table("value_norm");
  return weight > 0 ? table("update_norm") / weight : Number.NaN;
}

export function flowMap(flow: GradientFlow, measure: Measure): FlowMap {
  const { of, isShare } = MEASURES[measure];
  const columns = flow.num_columns;
  const start = commonStart(flow.variables.map(({ variable }) => variable));
  const rows = flow.variables.map(({ variable, layer, host }, row) => ({
    variable: host === undefined ? variable : `${variable} · ${host}`,
    title: host === undefined ? variable.slice(start) : `${host} · ${variable.slice(start)}`,
    layer,
    cells: Array.from({ length: columns }, (_, column) => cellOf(flow, measure, row, column)),
    bad: Array.from({ length: columns }, (_, column) => cellOf(flow, `${of}_bad`, row, column) > 0),
  }));
  const numbers = rows.flatMap(({ cells }) => cells.filter((one) => one > 0 && Number.isFinite(one)));
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return {
    rows,
    columns,
    range: isShare ? { low: 0, high: 1 } : numbers.length > 0 ? { low, high } : undefined,
  };
}

/** The length of the scopes that all names begin with. */
function commonStart(names: readonly string[]): number {
  const scopes = (names[0] ?? "").split("/").slice(0, -1);
  let start = 0;
  for (const scope of scopes) {
    const next = start + scope.length + 1;
    if (names.some((name) => name.slice(0, next) !== names[0]?.slice(0, next))) break;
    start = next;
  }
  return names.length > 1 ? start : 0;
}

/** The measures that have any number on record. */
export function recordedMeasures(flow: GradientFlow): readonly Measure[] {
  const names = Object.keys(MEASURES) as Measure[];
  return names.filter((name) => flowMap(flow, name).rows.some(({ cells }) => cells.some(Number.isFinite)));
}

/** Where a number is on the scale, from 0 to 1: logarithmic, or the number itself for a share. */
export function shareOf(value: number, { range }: FlowMap, isShare: boolean): number {
  if (range === undefined) return 0;
  if (isShare) return Math.min(1, Math.max(0, value));
  if (value <= 0) return 0;
  if (range.high <= range.low) return 1;
  return (Math.log(value) - Math.log(range.low)) / (Math.log(range.high) - Math.log(range.low));
}

/** The computation of a cell. */
export function indexOf(
  flow: GradientFlow,
  measure: Measure,
  row: number,
  column: number,
): GraphExecutionIndex | undefined {
  const index = cellOf(flow, `${MEASURES[measure].of}_index`, row, column);
  return Number.isNaN(index) ? undefined : graphExecutionIndex(index);
}

/** "step 12 of 40", or "steps 11–20 of 400" for a column of several. */
export function stepWords({ steps, num_columns: columns }: GradientFlow, column: number): string {
  const first = Math.ceil((column * steps) / columns);
  const end = Math.ceil(((column + 1) * steps) / columns);
  return end - first <= 1
    ? `step ${grouped(first + 1)} of ${grouped(steps)}`
    : `steps ${grouped(first + 1)}–${grouped(end)} of ${grouped(steps)}`;
}

/** How much smaller than the largest a median must be to be said. */
const MUCH = 1e3;

function medianOf(row: FlowRow): number | undefined {
  const known = row.cells.filter(Number.isFinite).sort((a, b) => a - b);
  return known[known.length >> 1];
}

/** 791234 -> "790,000". */
function timesWords(ratio: number): string {
  return ratio < 1e12 ? grouped(Number(ratio.toPrecision(2))) : shortNumber(ratio);
}

/** What is to be seen at a glance: what is bad, what is 0, and how far the ends are apart. */
export function flowWords(map: FlowMap, measure: Measure, stepOf: (column: number) => string): string {
  const bad = map.rows.filter(({ bad: marks }) => marks.some(Boolean));
  if (bad.length > 0) {
    const first = Math.min(...bad.map(({ bad: marks }) => marks.indexOf(true)));
    const names = bad.length === 1 ? (bad[0]?.title ?? "") : counted(bad.length, "variable");
    return `NaN or infinity in ${names}, first in ${stepOf(first)}.`;
  }
  const { title, isShare } = MEASURES[measure];
  const ranked = map.rows
    .flatMap((row) => {
      const median = medianOf(row);
      return median === undefined ? [] : [{ row, median }];
    })
    .sort((a, b) => a.median - b.median);
  const [low, high] = [ranked[0], ranked.at(-1)];
  if (low === undefined || high === undefined) return `No ${title} is on record.`;
  if (isShare)
    return `The highest share is that of ${high.row.title}: ${shortNumber(high.median)} in the middle of the run.`;
  const zeros = ranked.filter(({ median }) => median === 0);
  const first = zeros[0];
  if (first !== undefined && measure.startsWith("gradient"))
    return `The gradient of ${zeros.length === 1 ? first.row.title : counted(zeros.length, "variable")} is 0.`;
  const ratio = high.median / low.median;
  if (ratio >= MUCH)
    return `The ${title} of ${low.row.title} is ${timesWords(ratio)} times smaller than that of ${high.row.title}.`;
  return `From ${shortNumber(low.median)} (${low.row.title}) to ${shortNumber(high.median)} (${high.row.title}) in the middle of the run.`;
}
