/** Verbs that lead to things by their names. */
import type { Api } from "../../api/routes";
import type { GraphId, RunName } from "../../base/ids";
import { never } from "../../base/loaded";
import { escaped } from "../../base/text";
import type { Jump } from "../../model/find";
import type { VerbDeps } from "../deps";
import type { Facts } from "../facts";
import { type CallPosition, callOf, graphExecutionOf, lastIn } from "../locate";
import type { Choice } from "./choice";
import type { FilterVerbs } from "./filters";
import type { FocusVerbs } from "./focus";

export function createSearchVerbs(
  { api, facts }: VerbDeps,
  choice: Choice,
  { focusGraphExecution, focusExecution, focusOp, focusLine }: FocusVerbs,
  { setFilter }: FilterVerbs,
) {
  const goTo = (call: CallPosition) => {
    if ("trace" in call) void focusGraphExecution(call.trace);
    else focusExecution(call.execution);
  };
  const goToOp = (run: RunName, op: Extract<Jump, { kind: "op" }>) =>
    choice.wait(graphExecutionOf(api, run, op), (trace) =>
      focusOp({ graph: op.graph, opName: op.opName, trace, owner: undefined }),
    );
  const jumpIn = async (run: RunName, to: Jump): Promise<void> => {
    if (to.kind === "line") focusLine({ file: to.file, line: to.line });
    else if (to.kind === "layer") setFilter({ ...facts.filter.peek(), layer: `^${escaped(to.name)}(/|$)` });
    else if (to.kind === "op") await goToOp(run, to);
    else if (to.kind === "function") await choice.wait(callOf(api, run, to), goTo);
    else never(to);
  };
  return {
    /** Goes to what a name stands for: to the first bad value of an op, else to its last value. */
    jump: (to: Jump) => inRun(facts, (run) => jumpIn(run, to)),
    /**
     * Goes to the last tensor of a graph before the one in focus; without one, to the first call of the
     * graph.
     */
    focusGraph: (graph: GraphId) =>
      inRun(facts, (run) => choice.wait(lastOfGraph(api, facts, run, graph), goTo)),
  };
}

/** Does what the reader chose in the run in focus, if there is one. */
async function inRun(facts: Facts, act: (run: RunName) => Promise<void>): Promise<void> {
  const run = facts.run.peek();
  if (run === undefined) return;
  facts.touched.value = true;
  await act(run);
}

async function lastOfGraph(api: Api, facts: Facts, run: RunName, graph: GraphId): Promise<CallPosition> {
  const at = facts.subject.peek() === "op" ? facts.graphExecution.peek() : undefined;
  const { name } = await api.graph(run, graph);
  return lastIn(api, run, { kind: "function", graph, name: name ?? "" }, at);
}
