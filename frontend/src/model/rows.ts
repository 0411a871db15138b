/** Rows of the two long lists, read from the columns of a page when they are drawn. */
import { type ColumnPage, numberAt, textAt } from "../api/columns";
import { COUNTS, MOMENTS } from "../api/generated/modes";
import * as ids from "../base/ids";
import { byName, type Summary } from "./health";
import { displayName, dtypeName } from "./names";
import type { Role } from "./role";

/** The health of a value: 0 not measured, 1 good, 2 bad. */
export type Verdict = "unknown" | "good" | "bad";
const VERDICTS: readonly Verdict[] = ["unknown", "good", "bad"];

export interface ExecutionRow {
  readonly index: ids.ExecutionIndex;
  readonly opType: string;
  readonly isFunction: boolean;
  /** Of the outputs. */
  readonly health: Verdict;
  /** Of the graph executions inside the call. */
  readonly callHealth: Verdict;
  readonly host: string | undefined;
  readonly graph: ids.GraphId | undefined;
  /** The step of the program, from 0. */
  readonly step: number | undefined;
  readonly numInputs: number | undefined;
  readonly numOutputs: number | undefined;
  readonly recorded: Recorded;
}

/** When and where a row was recorded; line and thread are there if the list was asked for them. */
export interface Recorded {
  /** In seconds since the epoch. */
  readonly wallTime: number | undefined;
  /** "path:line" */
  readonly line: string | undefined;
  readonly thread: string | undefined;
}

export interface GraphExecutionRow {
  readonly index: ids.GraphExecutionIndex;
  readonly opName: string;
  readonly opType: string;
  readonly slot: number;
  readonly graph: ids.GraphId | undefined;
  readonly functionName: string | undefined;
  readonly device: string | undefined;
  readonly host: string | undefined;
  readonly owner: ids.ExecutionIndex | undefined;
  /** The step of the program, from 0. */
  readonly step: number | undefined;
  readonly role: Role;
  readonly summary: Summary;
  readonly recorded: Recorded;
  /** How often the tensor was computed before, its standard deviation and its norm, if they were asked for. */
  readonly asked: Readonly<Record<"occurrence" | "std" | "norm", number | undefined>>;
}

/** `row` counts from the first row of the page, here and below. */
export function executionRow(page: ColumnPage, row: number): ExecutionRow {
  const graph = textAt(page, "graph_id", row);
  return {
    index: ids.executionIndex(numberAt(page, "index", row) ?? page.begin + row),
    opType: textAt(page, "op_type", row) ?? "",
    isFunction: numberAt(page, "is_function", row) === 1,
    health: verdict(numberAt(page, "health", row)),
    callHealth: verdict(numberAt(page, "call_health", row)),
    host: textAt(page, "host", row),
    graph: graph ? ids.graphId(graph) : undefined,
    step: numberAt(page, "step", row),
    numInputs: numberAt(page, "num_inputs", row),
    numOutputs: numberAt(page, "num_outputs", row),
    recorded: recorded(page, row),
  };
}

function recorded(page: ColumnPage, row: number): Recorded {
  return {
    wallTime: numberAt(page, "wall_time", row),
    line: textAt(page, "line", row),
    thread: textAt(page, "thread", row),
  };
}

export function graphExecutionRow(page: ColumnPage, row: number): GraphExecutionRow {
  const owner = numberAt(page, "owner", row);
  const graph = textAt(page, "graph_id", row);
  return {
    index: ids.graphExecutionIndex(numberAt(page, "index", row) ?? page.begin + row),
    opName: textAt(page, "op_name", row) ?? "",
    opType: textAt(page, "op_type", row) ?? "",
    slot: numberAt(page, "slot", row) ?? 0,
    graph: graph ? ids.graphId(graph) : undefined,
    functionName: graphName(textAt(page, "function", row)),
    device: textAt(page, "device", row),
    host: textAt(page, "host", row),
    owner: owner === undefined ? undefined : ids.executionIndex(owner),
    step: numberAt(page, "step", row),
    role: {
      layer: textAt(page, "layer", row),
      variable: undefined,
      gradientOf: textAt(page, "gradient_of", row)?.split(", ") ?? [],
    },
    summary: summaryOf(page, row),
    recorded: recorded(page, row),
    asked: byName(["occurrence", "std", "norm"], (name) => numberAt(page, name, row)),
  };
}

function summaryOf(page: ColumnPage, row: number): Summary {
  const rank = numberAt(page, "rank", row);
  const health = verdict(numberAt(page, "health", row));
  return {
    mode: numberAt(page, "mode", row),
    dtype: dtypeName(numberAt(page, "dtype", row)),
    rank: rank === undefined || rank < 0 ? undefined : rank,
    shape: textAt(page, "shape", row),
    size: numberAt(page, "size", row),
    counts: byName(COUNTS, (name) => numberAt(page, name, row)),
    numerics: byName(MOMENTS, (name) => numberAt(page, name, row)),
    bad: health === "unknown" ? undefined : health === "bad",
  };
}

export function verdict(code: number | undefined): Verdict {
  return VERDICTS[code ?? 0] ?? "unknown";
}

/** The graph of a gradient has a name like that of its call. */
function graphName(name: string | undefined): string | undefined {
  return name === undefined ? undefined : displayName(name);
}
