/**
 * The columns of the lists: their heads, what sorts by them, and which are there until a reader chooses.
 *
 * A reader's choice is kept by the browser: `readChoice` takes any text, `writeChoice` makes one.
 */
import { type AnyList, KINDS, type ListName } from "../api/routes";

/** What a run has, and how wide its list is. */
export interface Shape {
  /** Pixels. */
  readonly width: number;
  readonly hasLayers: boolean;
  readonly hasDevices: boolean;
  readonly hasProcesses: boolean;
  /** Whether the mode measures minimum, maximum, mean and variance. */
  readonly hasMoments: boolean;
  /** The columns that a list of things has, which are those of which something is known. */
  readonly known: ReadonlySet<string>;
}

export interface ListColumn {
  readonly id: string;
  readonly title: string;
  /** What it is, in a menu and a tooltip. */
  readonly words: string;
  /** The column of the routes that sorts by it; undefined where the server cannot. */
  readonly sort?: string;
  /** A column that the routes give only if it is named. */
  readonly more?: string;
  /** The columns of the routes that a file has for it. */
  readonly exported: readonly string[];
  /** The least width in pixels, and its share of the space that is left; none: it is just as wide. */
  readonly least: number;
  readonly share?: number;
  readonly isNumber?: boolean;
  /** Whether the run has it. */
  readonly isThere?: (shape: Shape) => boolean;
  /** Whether it is shown until a reader chooses. */
  readonly isShown: (shape: Shape) => boolean;
}

/** Widths from which on columns have room. */
const NARROW = 560;
const WIDE = 900;
const WIDEST = 1200;
const always = () => true;
const never = () => false;
const inRoom = ({ width }: Shape) => width > NARROW;
const hasMoments = (shape: Shape) => shape.hasMoments;

const number = (id: string, words: string, parts: Partial<ListColumn> = {}): ListColumn => ({
  id,
  title: id,
  words,
  sort: id,
  exported: [id],
  least: 76,
  isNumber: true,
  isShown: never,
  ...parts,
});
const text = (id: string, words: string, parts: Partial<ListColumn> = {}): ListColumn => ({
  id,
  title: id,
  words,
  sort: id,
  exported: [id],
  least: 56,
  share: 1,
  isShown: never,
  ...parts,
});

/** A column by which the server cannot sort. */
function unsorted({ sort: _, ...column }: ListColumn): ListColumn {
  return column;
}

const INDEX = number("index", "position in the list", { title: "#", least: 40, isShown: always });
const TIME = number("wall_time", "time of day", { title: "time", least: 92 });
const LINE = text("line", "line of your code", { more: "line", least: 96 });
const THREAD = text("thread", "thread of the call", { more: "thread" });
const PROCESS = text("host", "process", {
  title: "process",
  isThere: (shape) => shape.hasProcesses,
  isShown: (shape) => shape.hasProcesses && inRoom(shape),
});

const LONG_LIST_COLUMNS: Readonly<Record<ListName, readonly ListColumn[]>> = {
  graph_executions: [
    INDEX,
    TIME,
    text("tensor", "tensor: op and output", {
      sort: "tensor_name",
      exported: ["op_name", "slot"],
      least: 84,
      share: 2.2,
      isShown: always,
    }),
    unsorted(
      number("occurrence", "which time the tensor was computed", {
        title: "k-th",
        more: "occurrence",
        least: 48,
      }),
    ),
    text("layer", "Keras layer", {
      isThere: (shape) => shape.hasLayers,
      isShown: (shape) => shape.hasLayers && inRoom(shape),
    }),
    text("function", "graph that the op is in", {
      isShown: (shape) => !shape.hasLayers && inRoom(shape),
    }),
    text("op_type", "type of the op", { title: "op type", isShown: inRoom }),
    LINE,
    number("slot", "output of the op", { least: 34 }),
    text("device", "device", {
      share: 0.5,
      isShown: (shape) => shape.hasDevices && !shape.hasProcesses && shape.width > WIDE,
    }),
    PROCESS,
    unsorted(THREAD),
    text("dtype", "dtype", { least: 50, share: 0, isShown: inRoom }),
    number("rank", "number of dimensions", { least: 32, isShown: (shape) => shape.width > WIDE }),
    text("shape", "shape", { least: 52, share: 0.6, isShown: inRoom }),
    number("size", "number of elements", { least: 34, isShown: inRoom }),
    {
      id: "counts",
      title: "counts",
      words: "how many elements are −∞, negative, 0, positive, +∞, NaN",
      exported: ["neg_inf", "negative", "zero", "positive", "pos_inf", "nan"],
      least: 186,
      share: 0.9,
      isShown: always,
    },
    number("min", "smallest finite element", { isThere: hasMoments }),
    number("max", "largest finite element", { isThere: hasMoments }),
    number("mean", "mean of the finite elements", { isThere: hasMoments }),
    number("std", "standard deviation of the finite elements", { more: "std", isThere: hasMoments }),
    number("norm", "norm of the finite elements", { more: "norm", isThere: hasMoments }),
  ],
  executions: [
    INDEX,
    TIME,
    text("op_type", "op, or function that was called", {
      title: "op",
      share: 2,
      least: 110,
      isShown: always,
    }),
    LINE,
    PROCESS,
    { ...THREAD, isShown: (shape) => shape.width > WIDE },
    number("num_inputs", "number of inputs", { title: "inputs", least: 52, isShown: inRoom }),
    number("num_outputs", "number of outputs", { title: "outputs", least: 56, isShown: inRoom }),
    text("health", "health of the outputs", {
      title: "outputs have",
      least: 84,
      share: 0.6,
      isShown: always,
    }),
    {
      id: "call_health",
      title: "inside",
      words: "health of what ran inside",
      exported: ["call_health"],
      least: 84,
      share: 0.6,
      isShown: inRoom,
    },
  ],
};

const wide = ({ width }: Shape) => width > WIDE;
const widest = ({ width }: Shape) => width > WIDEST;
const roomy = { isShown: inRoom };

/** The columns of all lists of things, of which each has those that the server knows something of. */
const THING_COLUMNS: readonly ListColumn[] = [
  number("index", "position in the order of the recording", { title: "#", least: 40, isShown: inRoom }),
  number("session", "number of the session", { least: 52, isShown: always }),
  number("run", "number of the run in its session", { least: 40, isShown: always }),
  text("name", "name", { least: 96, share: 2.2, isShown: always }),
  text("fetches", "what the program got, or ran", { least: 96, share: 2, isShown: always }),
  text("feeds", "what was fed", { share: 1.4, ...roomy }),
  text("op_type", "type of the op", { title: "op type", ...roomy }),
  text("function", "graph that the op is in", {
    isShown: (shape) => wide(shape) || (inRoom(shape) && !shape.known.has("layer")),
  }),
  text("layer", "Keras layer", roomy),
  text("variable", "variable that the op stands for, reads or assigns"),
  text("line", "line of your code", { least: 96, isShown: wide }),
  text("dtype", "dtype", { least: 56, share: 0.3, isShown: wide }),
  text("shape", "shape", { least: 80, share: 0.3, isShown: wide }),
  text("device", "device", { share: 0.5 }),
  text("host", "process", { title: "process", ...roomy }),
  text("thread", "thread"),
  number("begin_time", "when it began", { title: "begin", least: 92, ...roomy }),
  number("seconds", "how long it took", { title: "took", least: 60, ...roomy }),
  text("error", "what ended it", roomy),
  number("ops", "ops in graphs, also those that computed nothing", { least: 48, ...roomy }),
  number("variables", "variables that the ops read or assign", { least: 64, ...roomy }),
  number("reads", "reads of the variable on record", { least: 52, isShown: wide }),
  number("updates", "updates of the variable on record", { least: 60, isShown: wide }),
  number("gradients", "gradients of the variable on record", { least: 68, isShown: wide }),
  number("bad_gradients", "gradients with NaN or ∞", { title: "bad gradients", least: 92, isShown: wide }),
  number("calls", "calls from Python", { least: 48, ...roomy }),
  number("bad_calls", "calls with NaN or ∞ in an output, or inside", {
    title: "bad calls",
    least: 64,
    isShown: wide,
  }),
  number("computed", "tensors that were computed in graphs", { least: 68, isShown: always }),
  number("bad", "tensors with NaN or ∞", { least: 52, isShown: always }),
  number("nan", "tensors with NaN", { title: "NaN", least: 52, isShown: widest }),
  number("inf", "tensors with ∞", { title: "∞", least: 52, isShown: widest }),
  text("health", "worst health", { title: "worst", least: 84, share: 0.3, ...roomy }),
  number("min", "smallest finite element", { isShown: widest }),
  number("max", "largest finite element", { isShown: widest }),
  number("step", "step of the first tensor with NaN or ∞", {
    title: "bad in step",
    sort: "first_bad",
    least: 78,
    isShown: wide,
  }),
  number("call", "call of the first tensor with NaN or ∞", {
    title: "bad in call",
    sort: "first_bad",
    least: 78,
  }),
  number("first_bad", "position of the first tensor with NaN or ∞", { title: "first bad", least: 68 }),
];

export const LIST_COLUMNS = {
  ...LONG_LIST_COLUMNS,
  ...Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      THING_COLUMNS.map((column) => ({ ...column, isThere: ({ known }: Shape) => known.has(column.id) })),
    ]),
  ),
} as Readonly<Record<AnyList, readonly ListColumn[]>>;

/** What a reader chose of the columns of a list. */
export interface ColumnChoice {
  /** Columns that were shown or hidden. */
  readonly shown: Readonly<Record<string, boolean>>;
  /** All columns, if their order was changed. */
  readonly order: readonly string[];
  /** Widths in pixels of those that were changed. */
  readonly widths: Readonly<Record<string, number>>;
}

export const NO_CHOICE: ColumnChoice = { shown: {}, order: [], widths: {} };
const MOST_WIDTH = 2000;

export function readChoice(text: string | undefined, list: AnyList): ColumnChoice {
  const ids = LIST_COLUMNS[list].map(({ id }) => id);
  const known = ([id]: readonly [string, unknown]) => ids.includes(id);
  const { shown, order, widths } = objectOf(text);
  const kept = Array.isArray(order) ? [...new Set(order)].filter((id) => ids.includes(id)) : [];
  return {
    shown: Object.fromEntries(
      entries(shown)
        .filter(known)
        .filter((entry): entry is [string, boolean] => typeof entry[1] === "boolean"),
    ),
    order: kept.length === 0 ? [] : withAll(kept, ids),
    widths: Object.fromEntries(
      entries(widths)
        .filter(known)
        .filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] > 0)
        .map(([id, width]) => [id, Math.min(width, MOST_WIDTH)]),
    ),
  };
}

export function writeChoice(choice: ColumnChoice): string {
  return JSON.stringify(choice);
}

function objectOf(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const entries = (value: unknown): [string, unknown][] =>
  typeof value === "object" && value !== null ? Object.entries(value) : [];

/** Columns of a later version come after the one that they follow. */
function withAll(order: readonly string[], all: readonly string[]): readonly string[] {
  const result = [...order];
  all.forEach((id, place) => {
    if (!result.includes(id)) result.splice(result.indexOf(all[place - 1] ?? "") + 1, 0, id);
  });
  return result;
}

/** The columns that a run has. */
export function offered(list: AnyList, shape: Shape): readonly ListColumn[] {
  return LIST_COLUMNS[list].filter(({ isThere = always }) => isThere(shape));
}

/** Whether each column that a run has is shown. */
export function visibility(list: AnyList, shape: Shape, { shown }: ColumnChoice): Record<string, boolean> {
  const there = new Set(offered(list, shape));
  return Object.fromEntries(
    LIST_COLUMNS[list].map((column) => [
      column.id,
      there.has(column) && (shown[column.id] ?? column.isShown(shape)),
    ]),
  );
}

export const COLUMN_GAP = 9;
/** The space before and after the cells of a row. */
export const ROW_PADDING = 12;

/** The columns of the grid, and the width that a row has at least. */
export function grid(
  columns: readonly ListColumn[],
  { widths }: ColumnChoice,
  digits: number,
): { readonly template: string; readonly width: number } {
  const least = columns.map((column) => widths[column.id] ?? leastOf(column, digits));
  const parts = columns.map((column, i) => {
    const fixed = widths[column.id] !== undefined || !column.share;
    return fixed ? `${least[i]}px` : `minmax(${least[i]}px, ${column.share}fr)`;
  });
  const gaps = COLUMN_GAP * Math.max(0, columns.length - 1);
  return { template: parts.join(" "), width: least.reduce((sum, one) => sum + one, gaps + ROW_PADDING) };
}

/** The position has room for all digits of the last one. */
function leastOf({ id, least }: ListColumn, digits: number): number {
  return id === "index" ? Math.max(least, digits * 7 + 10) : least;
}

/** An order in which a column stands before another one, or last. */
export function moved(order: readonly string[], id: string, before: string | undefined): readonly string[] {
  if (id === before) return order;
  const rest = order.filter((other) => other !== id);
  const place = before === undefined ? rest.length : rest.indexOf(before);
  return place < 0 ? order : rest.toSpliced(place, 0, id);
}

/** The columns of the routes that a file or a copy has. */
export function exportedColumns(columns: readonly ListColumn[]): readonly string[] {
  return columns.flatMap(({ exported }) => exported);
}
