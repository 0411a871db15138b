/** The execution or op in focus, and the graph around it. */
import { computed } from "@preact/signals";
import type { ExecutionData, OpInfo } from "../../api/answers";
import type { RunName } from "../../base/ids";
import { type Loaded, mapLoaded, shown } from "../../base/loaded";
import { current } from "../../model/history";
import { type Neighbourhood, ofExecution, ofGraphOp, type Target } from "../../model/neighbourhood";
import { isChosen, rowParams } from "../lists/run_lists";
import { type ByKey, both, type Deps, ready } from "../run/run";
import type { FocusedFacts, OpFocus } from "./facts";

export type Structure = ReturnType<typeof createStructure>;

const NOWHERE: Target = { kind: "nowhere" };

export function createStructure({ api, facts }: Deps<FocusedFacts>, byKey: ByKey) {
  const run = facts.run;
  const op = computed(() => current(facts.history.value));
  const executionData = byKey(
    () => both(run.value, facts.execution.value),
    ([name, index], signal) => api.execution(name, index, signal),
  );
  const opInfo = byKey(
    () => both(run.value, op.value),
    ([name, at], signal) =>
      knownInfo(facts, name, at) ?? api.op(name, at.graph, at.opName, at.graphExecution, signal),
  );
  return {
    op,
    /** Where a link to what is in focus leads. */
    focusTarget: computed((): Target => {
      if (facts.subject.value === "op") return op.value === undefined ? NOWHERE : { kind: "op", ...op.value };
      const index = facts.execution.value;
      return index === undefined ? NOWHERE : { kind: "execution", index };
    }),
    executionData,
    /** The graph that the execution in focus ran. */
    calledGraph: byKey(
      () => both(run.value, shown(executionData.value)?.graph_id || undefined),
      ([name, id], signal) => api.graph(name, id, signal),
    ),
    opInfo,
    /** Which graph executions ran inside the execution in focus. */
    inside: byKey(
      () => both(run.value, facts.execution.value),
      ([name, index], signal) => api.locateExecution(name, index, signal),
    ),
    neighbourhood: computed(() => neighbourhood(facts, op.value, opInfo.value, executionData.value)),
    /** Rows of the list of graph executions that are inputs of the op in focus. */
    inputGraphExecutions: computed(() => inputGraphExecutions(facts, ready(opInfo.value))),
  };
}

/** What came with a pause of the op. */
function knownInfo(
  { known }: FocusedFacts,
  run: RunName,
  { graph, opName, graphExecution }: OpFocus,
): OpInfo | undefined {
  const { run: at, op, info } = known.peek() ?? {};
  const isSame =
    at === run && op?.graph === graph && op.opName === opName && op.graphExecution === graphExecution;
  return isSame ? info : undefined;
}

function neighbourhood(
  facts: FocusedFacts,
  op: OpFocus | undefined,
  opInfo: Loaded<OpInfo> | undefined,
  execution: Loaded<ExecutionData> | undefined,
): Loaded<Neighbourhood> | undefined {
  if (facts.subject.value === "execution") return mapLoaded(execution, ofExecution);
  if (op === undefined) return undefined;
  return mapLoaded(opInfo, (info) => ofGraphOp(info, info.graph_ids.at(-1) ?? op.graph, op.owner));
}

/** Only earlier rows: a later one was not an input of the op in focus. */
function inputGraphExecutions(facts: FocusedFacts, info: OpInfo | undefined): ReadonlySet<number> {
  const at = facts.graphExecution.value;
  if (info === undefined || at === undefined || facts.subject.value !== "op") return new Set();
  const rows = info.inputs.map((input) => {
    const { data, output_slot } = input.same ?? input;
    return data?.outputs[output_slot]?.health?.graph_execution_index;
  });
  return new Set(rows.filter((row) => row !== undefined && row < at) as number[]);
}

export function createPositions({ api, facts }: Deps<FocusedFacts>, byKey: ByKey, { inside }: Structure) {
  const wish = facts.wishes.graph_executions;
  const leftOut = computed(() => facts.onlyBad.value || isChosen(wish.value));
  const before = byKey(
    () => {
      const [index, onlyBad, params] = [
        facts.graphExecution.value,
        facts.onlyBad.value,
        rowParams(wish.value),
      ];
      if (!leftOut.value || index === undefined) return undefined;
      return both(facts.run.value, { index, onlyBad, params, generation: facts.status.value?.generation });
    },
    async ([run, { index, onlyBad, params }], signal) =>
      (await api.locateGraphExecution(run, index, onlyBad, params, signal)).before,
  );
  return {
    /** Whether the list of graph executions leaves some out, or has them in another order. */
    leftOut,
    /** The position of the row in focus in the list that is shown. */
    graphExecutionPosition: computed(() =>
      leftOut.value ? ready(before.value) : facts.graphExecution.value,
    ),
    /**
     * The row that the list brings into view: the one in focus, or the first that ran inside the execution in
     * focus.
     */
    revealedGraphExecution: computed(() => {
      if (leftOut.value) return ready(before.value);
      return facts.subject.value === "op"
        ? facts.graphExecution.value
        : ready(inside.value)?.graph_execution_begin;
    }),
  };
}
