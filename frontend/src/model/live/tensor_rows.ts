/** The tensors of the current call: the list that grows while the program steps, its filter, and its words. */
import type { LiveTensor, LiveTensors, Measured } from "../../api/live";
import type { Summary } from "../health";
import { dtypeName, shapeText, tensorName } from "../names";

/** The tensors of one call, in the order of time. */
export interface TensorRows {
  readonly call: number | undefined;
  readonly rows: readonly LiveTensor[];
  /** How many the program has; more than the rows until all are fetched. */
  readonly total: number;
}

export const NO_ROWS: TensorRows = { call: undefined, rows: [], total: 0 };

/** Adds the tensors of an answer. Those of another call take the place of the rows. */
export function extended(before: TensorRows, { call, tensors, total }: LiveTensors): TensorRows {
  const old = before.call === call ? before.rows : [];
  const last = old.at(-1)?.number ?? Number.NEGATIVE_INFINITY;
  const fresh = tensors.filter(({ number }) => number > last);
  return { call, rows: fresh.length === 0 ? old : [...old, ...fresh], total };
}

/**
 * The rows with the tensor at which the program is paused, which the state has before the list does. In another
 * call than that of the rows, it is the first of the new ones.
 */
export function withCurrent(
  { call, rows }: TensorRows,
  now: number | undefined,
  current: LiveTensor | undefined,
): readonly LiveTensor[] {
  if (current === undefined) return rows;
  if (call !== undefined && now !== call) return [current];
  const last = rows.at(-1);
  return last === undefined || current.number > last.number ? [...rows, current] : rows;
}

/** Takes newer facts about some of the rows, such as that a value was dropped. */
export function renewed(before: TensorRows, tensors: readonly LiveTensor[]): TensorRows {
  const byNumber = new Map(tensors.map((tensor) => [tensor.number, tensor]));
  return { ...before, rows: before.rows.map((row) => byNumber.get(row.number) ?? row) };
}

/** Names a tensor over all calls. */
export function keyOf({ graph_id, function: name, op_name, slot }: LiveTensor): string {
  // An eager op has no graph; a function that is traced again has another graph with the same name.
  return JSON.stringify([name === "" ? graph_id : name, op_name, slot]);
}

export function nameOf({ op_name, slot }: LiveTensor): string {
  return tensorName(op_name, slot);
}

type Described = Pick<LiveTensor, "dtype" | "shape" | "numbers"> & { readonly unknown_shape?: boolean };

/** The numbers of a tensor as all views of the page take them. */
export function summaryOf({ dtype, shape, numbers, unknown_shape }: Described): Summary {
  const known = measured(numbers);
  if (unknown_shape === true) return { ...known, dtype: dtypeName(dtype) };
  const size = known.size ?? shape.reduce((product, dim) => product * Math.max(0, dim), 1);
  return { ...known, dtype: dtypeName(dtype), rank: shape.length, shape: shapeText(shape), size };
}

/** What numbers say of a tensor of which nothing else is known. */
export function measured(numbers: readonly Measured[]): Summary {
  const of = new Map(numbers.map(({ name, value }) => [name, value]));
  const counts = {
    neg_inf: of.get("ninf"),
    pos_inf: of.get("pinf"),
    nan: of.get("nan"),
    negative: of.get("neg"),
    zero: of.get("zero"),
    positive: of.get("pos"),
  };
  const isMeasured = counts.nan !== undefined;
  const bad = (counts.neg_inf ?? 0) + (counts.pos_inf ?? 0) + (counts.nan ?? 0) > 0;
  return {
    size: of.get("size"),
    counts,
    numerics: { min: of.get("min"), max: of.get("max"), mean: of.get("mean"), variance: of.get("var") },
    bad: isMeasured ? bad : undefined,
  };
}

/** A number of a tensor; "std" and "range" are computed, as in conditions. */
export function numberOf(numbers: readonly Measured[], name: string): number | undefined {
  const plain = (wanted: string) => numbers.find((one) => one.name === wanted)?.value;
  const both = (a: string, b: string, join: (a: number, b: number) => number) => {
    const [x, y] = [plain(a), plain(b)];
    return x === undefined || y === undefined ? undefined : join(x, y);
  };
  if (name === "std") {
    const variance = plain("var");
    return variance === undefined ? undefined : Math.sqrt(variance);
  }
  if (name === "range") return both("max", "min", (max, min) => max - min);
  if (name === "inf") return both("ninf", "pinf", (low, high) => low + high);
  return plain(name);
}

export type FilterBy = "name" | "type";

/** A regular expression that the reader typed, and what it is searched in. */
export interface NameFilter {
  readonly by: FilterBy;
  readonly text: string;
}

export const NO_FILTER: NameFilter = { by: "name", text: "" };

/** The expression of a filter; undefined when it is empty, "wrong" when it is none. */
export function expressionOf({ text }: NameFilter): RegExp | "wrong" | undefined {
  if (text.trim() === "") return undefined;
  try {
    return new RegExp(text.trim(), "i");
  } catch {
    return "wrong";
  }
}

/** The rows that fulfil the filter. A filter that is no regular expression lets nothing through. */
export function filteredRows(rows: readonly LiveTensor[], filter: NameFilter): readonly LiveTensor[] {
  const expression = expressionOf(filter);
  if (expression === undefined) return rows;
  if (expression === "wrong") return [];
  const textOf = filter.by === "type" ? (row: LiveTensor) => row.op_type : nameOf;
  return rows.filter((row) => expression.test(textOf(row)));
}

/** The position of a tensor among rows, which are in the order of their numbers; undefined when it is not. */
export function positionOf(rows: readonly LiveTensor[], number: number | undefined): number | undefined {
  if (number === undefined) return undefined;
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.number ?? number) < number) low = middle + 1;
    else high = middle;
  }
  return rows[low]?.number === number ? low : undefined;
}
