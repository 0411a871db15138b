/** Finds the positions of ops and functions in the long lists by their names. */
import type { ColumnPage } from "../../api/columns";
import type { Api, ListName, Named } from "../../api/routes";
import type { ExecutionIndex, GraphExecutionIndex, GraphId, RunName } from "../../base/ids";
import { exactly } from "../../base/text";
import type { Jump } from "../../model/find";
import { displayName } from "../../model/names";
import { executionRow, graphExecutionRow } from "../../model/rows";

type OpJump = Extract<Jump, { kind: "op" }>;
type FunctionJump = Extract<Jump, { kind: "function" }>;
/** The position of a call of a function, or of a tensor in it. */
export type CallPosition =
  | { readonly execution: ExecutionIndex }
  | { readonly graphExecution: GraphExecutionIndex };

/**
 * Most searches end at the first row. When a function was traced several times, rows of other graphs with its
 * name come first; then up to MOST rows are read.
 */
const FEW = 64;
const MOST = 16_384;
const ROWS = 4096;

/** The first bad value of an op or of one of its outputs, else its last value; undefined when it has none. */
export async function graphExecutionOf(
  api: Api,
  run: RunName,
  jump: OpJump,
): Promise<GraphExecutionIndex | undefined> {
  const { graph, graphName, opName, slot } = jump;
  const named: Named = { ...namedGraph(graphName), op_name: exactly(opName), health: "bad" };
  const [bad, info] = await Promise.all([
    firstRow(api, run, "graph_executions", named, (page, i) => {
      const row = graphExecutionRow(page, i);
      const same = row.graph === graph && row.opName === opName && (slot ?? row.slot) === row.slot;
      return same ? row.index : undefined;
    }),
    api.op(run, graph, opName, undefined),
  ]);
  const outputs = slot === undefined ? info.outputs : info.outputs.slice(slot, slot + 1);
  return bad ?? outputs.map(({ health }) => health?.graph_execution_index).find((at) => at !== undefined);
}

/** The first call of a function from Python; if only other functions call it, the first tensor in it. */
export async function callOf(api: Api, run: RunName, { graph, name }: FunctionJump): Promise<CallPosition> {
  const named = namedGraph(name);
  const inGraph = <I>(row: { readonly graph: GraphId | undefined; readonly index: I }): I | undefined =>
    row.graph === graph ? row.index : undefined;
  const execution = await firstRow(api, run, "executions", named, (page, i) =>
    inGraph(executionRow(page, i)),
  );
  if (execution !== undefined) return { execution };
  const graphExecution = await firstRow(api, run, "graph_executions", named, (page, i) =>
    inGraph(graphExecutionRow(page, i)),
  );
  if (graphExecution !== undefined) return { graphExecution };
  throw new Error(`No call of ${displayName(name)} is on record.`);
}

/** The last tensor of a graph before a graph execution; without one, the first call of the graph. */
export async function lastIn(
  api: Api,
  run: RunName,
  { graph, name }: FunctionJump,
  at: GraphExecutionIndex | undefined,
): Promise<CallPosition> {
  const named = namedGraph(name);
  const before = at === undefined ? 0 : ((await api.locateNamed(run, at, named)).before ?? 0);
  const begin = Math.max(0, before - FEW);
  const page = await api.namedRows(run, "graph_executions", begin, before, named);
  for (let row = page.end - page.begin - 1; row >= 0; row--) {
    const candidate = graphExecutionRow(page, row);
    if (candidate.graph === graph) return { graphExecution: candidate.index };
  }
  return callOf(api, run, { kind: "function", graph, name });
}

/** Graphs that a program created without a function have no name. */
function namedGraph(name: string | undefined): Named {
  return !name ? {} : { function: exactly(name) };
}

async function firstRow<T>(
  api: Api,
  run: RunName,
  list: ListName,
  named: Named,
  pick: (page: ColumnPage, row: number) => T | undefined,
): Promise<T | undefined> {
  const { total } = await api.namedRows(run, list, 0, 0, named);
  const last = Math.min(total, MOST);
  for (
    let begin = 0, end = Math.min(FEW, last);
    begin < last;
    begin = end, end = Math.min(end + ROWS, last)
  ) {
    const page = await api.namedRows(run, list, begin, end, named);
    for (let row = 0; row < page.end - page.begin; row++) {
      const picked = pick(page, row);
      if (picked !== undefined) return picked;
    }
  }
  return undefined;
}
