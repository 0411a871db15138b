/** The histories of a tensor in two runs as lines of a chart, and their difference over time. */
import type { Histories } from "../api/comparison";
import { executionIndex, graphExecutionIndex } from "../base/ids";
import { counted, grouped } from "../base/text";
import { type ChartLine, rangeOf } from "./chart";
import { AXES } from "./curves";
import { linkTarget, type Target } from "./neighbourhood";

/** The numbers that a picture can show, the most telling ones first, and their words. */
export const NUMBER_WORDS = {
  mean: "mean",
  min: "min",
  max: "max",
  std: "standard deviation",
  zero: "number of zeros",
  negative: "number of negative values",
  positive: "number of positive values",
  nan: "number of NaN",
  inf: "number of ±∞",
} as const;
export type HistoryNumber = keyof typeof NUMBER_WORDS;
export const HISTORY_NUMBERS = Object.keys(NUMBER_WORDS) as readonly HistoryNumber[];

export type Which = "first" | "second";
type Values = readonly (number | undefined)[];

/** A number of each occurrence; undefined where it is not recorded. */
export function historyOf(histories: Histories, which: Which, name: HistoryNumber): Values {
  const column = (of: string) => numbersOf(histories, `${which}_${of}`);
  if (name === "std")
    return column("variance").map((value) => (value === undefined ? undefined : Math.sqrt(value)));
  if (name !== "inf") return column(name);
  const high = column("pos_inf");
  return column("neg_inf").map((low, i) => (low === undefined ? undefined : low + (high[i] ?? 0)));
}

function numbersOf({ columns }: Histories, name: string): Values {
  return Array.from(columns.get(name) ?? [], (value) => (Number.isNaN(value) ? undefined : value));
}

const ONLY_WHERE_THERE_ARE_ANY: ReadonlySet<HistoryNumber> = new Set(["nan", "inf"]);

/** The numbers that either run has on record. */
export function availableNumbers(histories: Histories): readonly HistoryNumber[] {
  return HISTORY_NUMBERS.filter((name) =>
    [...historyOf(histories, "first", name), ...historyOf(histories, "second", name)].some(
      (value) => value !== undefined && (value !== 0 || !ONLY_WHERE_THERE_ARE_ANY.has(name)),
    ),
  );
}

/** Where the occurrences are on the axis. */
function placesOf({ columns }: Histories): readonly number[] {
  return Array.from(columns.get("occurrence") ?? [], (at) => at + AXES.occurrence.offset);
}

/** A number of both runs; occurrences that differ by more than the tolerance are marked. */
export function twoLines(
  histories: Histories,
  name: HistoryNumber,
  labels: readonly [string, string],
): readonly ChartLine[] {
  const x = placesOf(histories);
  const bad = x.map((_, row) => isApart(histories, row));
  return [
    { label: labels[0], x, y: historyOf(histories, "first", name), bad, look: 0 },
    { label: labels[1], x, y: historyOf(histories, "second", name), look: 3 },
  ];
}

/** Whether an occurrence differs by more than the tolerance. */
export function isApart({ columns }: Histories, row: number): boolean {
  const [difference, tolerance] = [columns.get("difference")?.[row], columns.get("tolerance")?.[row]];
  return difference !== undefined && tolerance !== undefined && difference > tolerance;
}

/** The row of the occurrence in focus; undefined if it has no partner. */
export function rowInFocus({ columns, occurrence }: Histories): number | undefined {
  const row = occurrence === undefined ? -1 : (columns.get("occurrence")?.indexOf(occurrence) ?? -1);
  return row < 0 ? undefined : row;
}

/** Where the occurrence of a row is in the first run. */
export function rowTarget({ first, columns }: Histories, row: number): Target {
  const index = columns.get("first_index")?.[row];
  if (index === undefined) return { kind: "nowhere" };
  return first.op_name === undefined
    ? linkTarget({ ...first, execution_index: executionIndex(index) })
    : linkTarget({ ...first, graph_execution_index: graphExecutionIndex(index) });
}

/** The difference and the tolerance; no lines if nothing differs. */
export function differenceLines(histories: Histories): readonly ChartLine[] {
  const x = placesOf(histories);
  const above = (name: string) =>
    numbersOf(histories, name).map((value) => (value !== undefined && value > 0 ? value : undefined));
  const difference = above("difference");
  if (rangeOf(difference) === undefined) return [];
  return [
    { label: "difference", x, y: difference, look: 1 },
    { label: "tolerance", x, y: above("tolerance"), look: 2 },
  ];
}

/** "3 of 12 occurrences differ by more than the tolerance"; of a long history, of those that are shown. */
export function apartWords(histories: Histories): string {
  const rows = rowCount(histories);
  const apart = Array.from({ length: rows }, (_, i) => isApart(histories, i)).filter(Boolean).length;
  if (histories.total === 1)
    return apart === 0 ? "computed once, and equal within the tolerance" : "computed once";
  const shown = rows < histories.total ? ` (${grouped(rows)} of ${grouped(histories.total)} are shown)` : "";
  const of = `of ${counted(rows, "occurrence")}`;
  if (apart === 0) return `none ${of} differs by more than the tolerance${shown}`;
  return `${grouped(apart)} ${of} ${apart === 1 ? "differs" : "differ"} by more than the tolerance${shown}`;
}

/** How many occurrences are shown. */
export function rowCount({ columns }: Histories): number {
  return columns.get("occurrence")?.length ?? 0;
}
