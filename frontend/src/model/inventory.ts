/** Lists of things: the ops, functions, layers … of a run, read from the columns of a page. */

import { type ColumnPage, numberAt, textAt } from "../api/columns";
import { CRITERIA } from "../api/generated/filters";
import type { AnyList, Kind, ListName } from "../api/routes";
import { type GraphExecutionIndex, type GraphId, graphExecutionIndex, graphId } from "../base/ids";
import type { Term } from "./filters";

export const KIND_TITLES: Readonly<Record<Kind, string>> = {
  ops: "Ops",
  functions: "Functions",
  variables: "Variables",
  layers: "Layers",
  session_runs: "Session runs",
  op_types: "Op types",
  lines: "Lines",
  processes: "Processes",
  devices: "Devices",
  dtypes: "Dtypes",
  threads: "Threads",
};

export function isLong(list: AnyList): list is ListName {
  return list === "executions" || list === "graph_executions";
}

/** The long list whose filter a list has. */
export function longOf(list: AnyList): ListName {
  return list === "executions" ? list : "graph_executions";
}

/** What a row of a list of things leads to. */
export interface Thing {
  /** Undefined for what belongs to none, and for a run of a session. */
  readonly name: string | undefined;
  readonly computed: number;
  readonly calls: number;
  /** The graph of an op. */
  readonly graph: GraphId | undefined;
  /** The first bad tensor of it, or else the first one. */
  readonly first: GraphExecutionIndex | undefined;
  readonly host: string | undefined;
  /** The time of a run of a session; its end is exclusive. */
  readonly time: { readonly begin: number; readonly until: number } | undefined;
}

/** `row` counts from the first row of the page. */
export function thingAt(page: ColumnPage, row: number): Thing {
  const number = (name: string) => numberAt(page, name, row);
  const [graph, begin, until] = [textAt(page, "graph_id", row), number("begin_time"), number("until")];
  const first = number("first_bad") ?? number("first");
  return {
    name: textAt(page, "name", row),
    computed: number("computed") ?? 0,
    calls: number("calls") ?? 0,
    graph: graph ? graphId(graph) : undefined,
    first: first === undefined ? undefined : graphExecutionIndex(first),
    host: textAt(page, "host", row),
    time: begin === undefined || until === undefined ? undefined : { begin, until },
  };
}

/** The terms that leave just the rows of a thing; none where no filter does. */
export function termsOf(kind: Kind, { name, host, time }: Thing): readonly Term[] {
  if (time !== undefined)
    return [
      { word: "since", sign: ":", value: String(time.begin) },
      { word: "before", sign: ":", value: String(time.until) },
      ...(host === undefined ? [] : [{ word: "process", sign: ":", value: host } as const]),
    ];
  const criterion = CRITERIA.find(({ things }) => things === kind);
  if (criterion === undefined) return [];
  const isRegex = criterion.kind === "regex";
  if (name === undefined) return isRegex ? [{ word: criterion.word, sign: ":", value: "^$" }] : [];
  return [{ word: criterion.word, sign: isRegex ? "=" : ":", value: name }];
}
