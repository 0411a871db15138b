/**
 * Slices in NumPy's notation: read from the reader's text, changed by sliders, and narrowed to what is seen.
 *
 * `parseSlicing` gives one axis for each dimension, or undefined for what the server should judge. The server
 * reads the text itself, so that a mistake gets its sentence; what is read here only moves controls.
 */

export type Axis =
  | { readonly kind: "index"; readonly at: number }
  | {
      readonly kind: "range";
      readonly begin?: number | undefined;
      readonly end?: number | undefined;
      readonly step?: number | undefined;
    };

/** The elements of a dimension that are shown: `first`, `first + step`, and so on. */
export interface Line {
  readonly axis: number;
  readonly first: number;
  readonly step: number;
  readonly length: number;
}

/** A slice of at most two dimensions as it is drawn. A vector is one row; a scalar is one cell. */
export interface Plane {
  readonly axes: readonly Axis[];
  readonly shape: readonly number[];
  readonly rows: Line | undefined;
  readonly columns: Line | undefined;
  /** Whether the rows are the later dimension: the server's answers must be transposed. */
  readonly isSwapped: boolean;
}

export interface Span {
  readonly begin: number;
  readonly end: number;
}

const ALL: Axis = { kind: "range" };

/** The whole of the last two dimensions, at the beginning of the others. */
export function firstSlice(rank: number): readonly Axis[] {
  return Array.from({ length: rank }, (_, i): Axis => (i < rank - 2 ? { kind: "index", at: 0 } : ALL));
}

/** The whole of the last two dimensions, where they hold an element, and the cell of the element there. */
export function sliceAt(index: readonly number[]): {
  readonly axes: readonly Axis[];
  readonly cell: { readonly row: number; readonly column: number };
} {
  const axes = firstSlice(index.length).map((axis, i): Axis => {
    return axis.kind === "index" ? { kind: "index", at: index[i] ?? 0 } : axis;
  });
  return { axes, cell: { row: index.at(-2) ?? 0, column: index.at(-1) ?? 0 } };
}

export function parseSlicing(text: string, rank: number): readonly Axis[] | undefined {
  const inner = text.trim().replace(/^\[(.*)\]$/s, "$1");
  const parts = inner.split(",").map((part) => part.trim());
  if (parts.at(-1) === "") parts.pop();
  const ellipses = parts.filter((part) => part === "...").length;
  const missing = rank - (parts.length - ellipses);
  if (ellipses > 1 || missing < 0) return undefined;
  const filled = Array.from({ length: missing }, () => ALL);
  const axes = parts.flatMap((part) => (part === "..." ? filled : [axisOf(part)]));
  const whole = ellipses === 0 ? [...axes, ...filled] : axes;
  return whole.includes(undefined) ? undefined : (whole as readonly Axis[]);
}

function axisOf(part: string): Axis | undefined {
  if (/^[+-]?\d{1,15}$/.test(part)) return { kind: "index", at: Number(part) };
  if (!/^\s*([+-]?\d{1,15})?\s*:\s*([+-]?\d{1,15})?\s*(:\s*([+-]?\d{1,15})?\s*)?$/.test(part))
    return undefined;
  const [begin, end, step] = part.split(":").map((n) => (n.trim() === "" ? undefined : Number(n)));
  return step === 0 ? undefined : { kind: "range", begin, end, step };
}

/** "[0, 2:, :]"; "..." for a scalar. */
export function writeSlicing(axes: readonly Axis[]): string {
  return axes.length === 0 ? "..." : `[${axes.map(axisText).join(", ")}]`;
}

function axisText(axis: Axis): string {
  if (axis.kind === "index") return String(axis.at);
  const { begin, end, step } = axis;
  return `${begin ?? ""}:${end ?? ""}${step === undefined || step === 1 ? "" : `:${step}`}`;
}

/** The elements that a range selects of a dimension, as Python's `slice.indices` gives them. */
export function lineOf(axis: Axis & { kind: "range" }, number: number, size: number): Line {
  const step = axis.step ?? 1;
  const [least, most] = step > 0 ? [0, size] : [-1, size - 1];
  const clip = (at: number | undefined, without: number) =>
    at === undefined ? without : Math.min(most, Math.max(least, at < 0 ? at + size : at));
  const first = clip(axis.begin, step > 0 ? 0 : size - 1);
  const end = clip(axis.end, step > 0 ? size : -1);
  return { axis: number, first, step, length: Math.max(0, Math.ceil((end - first) / step)) };
}

/** Undefined for a slice of more than two dimensions. */
export function planeOf(
  axes: readonly Axis[],
  shape: readonly number[],
  isSwapped: boolean,
): Plane | undefined {
  const lines = axes.flatMap((axis, i) => (axis.kind === "range" ? [lineOf(axis, i, shape[i] ?? 0)] : []));
  if (lines.length > 2) return undefined;
  const [a, b] = lines;
  if (b === undefined) return { axes, shape, rows: undefined, columns: a, isSwapped: false };
  return isSwapped
    ? { axes, shape, rows: b, columns: a, isSwapped }
    : { axes, shape, rows: a, columns: b, isSwapped };
}

export function rowsOf({ rows }: Plane): number {
  return rows === undefined ? 1 : rows.length;
}

export function columnsOf({ columns }: Plane): number {
  return columns === undefined ? 1 : columns.length;
}

/** Whether a plane has a cell; the slice may have changed since the reader chose it. */
export function hasCell(plane: Plane, row: number, column: number): boolean {
  return row < rowsOf(plane) && column < columnsOf(plane);
}

/** The slicing of a part of the plane. */
export function partOf(plane: Plane, rows: Span, columns: Span): string {
  const axes = [...plane.axes];
  if (plane.rows !== undefined) axes[plane.rows.axis] = narrowed(plane.rows, rows, plane.shape);
  if (plane.columns !== undefined) axes[plane.columns.axis] = narrowed(plane.columns, columns, plane.shape);
  return writeSlicing(axes);
}

function narrowed({ axis, first, step, length }: Line, span: Span, shape: readonly number[]): Axis {
  const begin = first + span.begin * step;
  const last = first + (Math.min(span.end, length) - 1) * step;
  const end = step > 0 ? Math.min(last + 1, shape[axis] ?? last + 1) : last - 1;
  // Before the first element there is no position: -1 would be the last element.
  return { kind: "range", begin, end: end < 0 ? undefined : end, step };
}

/** The position of a cell in the whole tensor. */
export function positionOf(plane: Plane, row: number, column: number): readonly number[] {
  return plane.axes.map((axis, i) => {
    if (axis.kind === "index") return axis.at < 0 ? axis.at + (plane.shape[i] ?? 0) : axis.at;
    const [line, at] = plane.rows?.axis === i ? [plane.rows, row] : [plane.columns, column];
    return (line?.first ?? 0) + at * (line?.step ?? 1);
  });
}

/** Moves an index; other axes stay. */
export function withIndex(axes: readonly Axis[], axis: number, at: number): readonly Axis[] {
  return axes.map((old, i) => (i === axis ? { kind: "index", at } : old));
}

/** Shows the dimensions `shown` whole, and the others at an index. */
export function withShown(axes: readonly Axis[], shown: readonly number[]): readonly Axis[] {
  return axes.map((old, i): Axis => {
    if (shown.includes(i)) return old.kind === "range" ? old : ALL;
    return old.kind === "index" ? old : { kind: "index", at: Math.max(0, old.begin ?? 0) };
  });
}

/** The dimensions that are shown, in order. */
export function shownAxes(axes: readonly Axis[]): readonly number[] {
  return axes.flatMap(({ kind }, i) => (kind === "range" ? [i] : []));
}
