/** The map of exponents: magnitudes by powers of two over the occurrences of a tensor, and words about a cell. */
import type { CurveSource, ExponentMap } from "../api/curves";
import { counted, grouped, significant } from "../base/text";
import { AXES, type AxisName, type Span, sourceKey } from "./curves";

/** A row of the map: a kind of elements. */
export interface MapRow {
  /** The column of the answer that counts them. */
  readonly name: string;
  readonly title: string;
  readonly kind: "nan" | "infinity" | "normal" | "denormal" | "zero";
}

const RAISED: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from("-0123456789", (digit, i) => [digit, "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"[i] ?? ""]),
);

/** 2⁻¹⁴ */
function power(exponent: number): string {
  return `2${Array.from(String(exponent), (digit) => RAISED[digit]).join("")}`;
}

/** The ranges of magnitudes, from small to large. */
function ranges({ edges, least_exponent: least }: ExponentMap): readonly MapRow[] {
  const titles = [
    `below ${power(edges[0] ?? 0)}`,
    ...edges.map((edge, i) => {
      const end = edges[i + 1];
      return end === undefined ? `${power(edge)} or more` : `${power(edge)} to ${power(end)}`;
    }),
  ];
  return titles.map((title, i) => ({
    ...{ name: rangeName(edges, i), title },
    kind:
      (edges[i] ?? Number.POSITIVE_INFINITY) <= (least ?? Number.NEGATIVE_INFINITY) ? "denormal" : "normal",
  }));
}

/** As the server names the column: "tiny", "from_2_m126", "from_2_8". */
function rangeName(edges: readonly number[], range: number): string {
  const edge = edges[range - 1];
  return edge === undefined ? "tiny" : `from_2_${edge < 0 ? "m" : ""}${Math.abs(edge)}`;
}

const ABOVE: readonly MapRow[] = [
  { name: "nan", title: "NaN", kind: "nan" },
  { name: "pos_inf", title: "+∞", kind: "infinity" },
  { name: "neg_inf", title: "−∞", kind: "infinity" },
];
const ZERO: MapRow = { name: "zero", title: "0", kind: "zero" };

/** The rows from top to bottom: those of bad values and of 0 always, the ranges as far as there are elements. */
export function mapRows(map: ExponentMap): readonly MapRow[] {
  const all = ranges(map);
  const isUsed = all.map(({ name }) => map.columns.get(name)?.some((count) => count > 0) === true);
  const [first, last] = [isUsed.indexOf(true), isUsed.lastIndexOf(true)];
  const seen = first < 0 ? [] : all.slice(first, last + 1);
  return [...ABOVE, ...seen.toReversed(), ZERO];
}

export function numColumns(map: ExponentMap): number {
  return map.columns.get("occurrence")?.length ?? 0;
}

function numberAt(map: ExponentMap, name: string, column: number): number {
  return map.columns.get(name)?.[column] ?? 0;
}

/** The share of the elements of a column that are in a row. */
export function shareAt(map: ExponentMap, { name }: MapRow, column: number): number {
  const size = numberAt(map, "size", column);
  return size > 0 ? numberAt(map, name, column) / size : 0;
}

/** Shares below this one look alike. */
const LEAST = 1e-4;

/** How strong the colour of a share is, from 0 to 1 on a logarithmic scale; undefined for nothing. */
export function strengthOf(share: number): number | undefined {
  return share > 0 ? Math.max(0, 1 - Math.log10(Math.min(1, share)) / Math.log10(LEAST)) : undefined;
}

/** The column that has an occurrence; undefined when none has. */
export function columnAt(map: ExponentMap, occurrence: number): number | undefined {
  if (occurrence < map.begin || occurrence >= map.end) return undefined;
  const length = map.end - map.begin;
  const parts = map.is_reduced ? Math.min(length, numColumns(map)) : length;
  const part = Math.floor(((occurrence - map.begin + 1) * parts - 1) / length);
  const occurrences = map.columns.get("occurrence") ?? [];
  const column = map.is_reduced ? part : Array.from(occurrences).indexOf(occurrence);
  return column < 0 ? undefined : Math.min(column, numColumns(map) - 1);
}

/** The occurrences around a column: a share of those that are seen; undefined for all. */
export function zoomed(
  map: ExponentMap,
  source: CurveSource,
  column: number,
  share: number | undefined,
): Span | undefined {
  const length = Math.round((map.end - map.begin) * (share ?? Number.POSITIVE_INFINITY));
  if (length >= map.total) return undefined;
  const middle = numberAt(map, "occurrence", column);
  const begin = Math.max(0, Math.min(map.total - length, middle - (length >> 1)));
  return { of: sourceKey(source), begin, end: Math.min(map.total, begin + Math.max(2, length)) };
}

/** "occurrence 12", with "and 3 more" for a column of several. */
export function columnWords(map: ExponentMap, axis: AxisName, column: number): string {
  const { column: name, offset, place } = AXES[axis];
  const more = numberAt(map, "count", column) - 1;
  return `${place(numberAt(map, name, column) + offset)}${more > 0 ? ` and ${grouped(more)} more` : ""}`;
}

function percent(share: number): string {
  return share > 0 && share < LEAST ? "< 0.01 %" : `${significant(share * 100)} %`;
}

function rowWords({ title, kind }: MapRow): string {
  return kind === "denormal" ? `${title}, denormal` : title;
}

/** "occurrence 12 · 2⁻⁸ to 2⁻⁶ · 30 of 40 elements, 75 %". */
export function cellWords(map: ExponentMap, row: MapRow, axis: AxisName, column: number): string {
  const [count, size] = [numberAt(map, row.name, column), numberAt(map, "size", column)];
  const share = percent(shareAt(map, row, column));
  return [
    columnWords(map, axis, column),
    rowWords(row),
    `${grouped(count)} of ${counted(size, "element")}, ${share}`,
  ].join(" · ");
}

/** What is to be known of a column, in words: the table beside the map. */
export interface ColumnFacts {
  readonly most: string;
  readonly zero: string;
  readonly denormal: string;
  readonly infinite: string;
  readonly nan: string;
}

export function columnFacts(map: ExponentMap, rows: readonly MapRow[], column: number): ColumnFacts {
  const sum = (kind: MapRow["kind"]) =>
    rows.reduce((total, row) => total + (row.kind === kind ? shareAt(map, row, column) : 0), 0);
  const ofNumbers = rows.filter(({ kind }) => kind === "normal" || kind === "denormal" || kind === "zero");
  const most = ofNumbers.reduce<MapRow | undefined>(
    (best, row) =>
      best === undefined || shareAt(map, row, column) > shareAt(map, best, column) ? row : best,
    undefined,
  );
  const top = most === undefined ? 0 : shareAt(map, most, column);
  return {
    most: most === undefined || top === 0 ? "–" : `${rowWords(most)} (${percent(top)})`,
    zero: percent(sum("zero")),
    denormal: percent(sum("denormal")),
    infinite: percent(sum("infinity")),
    nan: percent(sum("nan")),
  };
}

/** The map in a sentence or two. */
export function mapWords(map: ExponentMap, rows: readonly MapRow[], axis: AxisName): string {
  const columns = numColumns(map);
  if (columns === 0) return "No magnitudes are on record.";
  const most = (column: number) =>
    `${columnWords(map, axis, column)}: most elements are ${columnFacts(map, rows, column).most}`;
  const bad = map.columns.get("bad") ?? [];
  const first = bad.findIndex((count) => count > 0);
  return [
    `${counted(columns, "column")} of ${counted(map.end - map.begin, "occurrence")}`,
    ...(columns > 1 ? [most(0), most(columns - 1)] : [most(0)]),
    first < 0 ? "no NaN and no infinity" : `NaN or infinity first at ${columnWords(map, axis, first)}`,
  ].join(". ");
}
