/** Verbs that lead to things by their names. */
import type { GraphId } from "../../base/ids";
import { never } from "../../base/loaded";
import { escaped } from "../../base/text";
import type { Jump } from "../../model/find";
import type { VerbDeps } from "../deps";
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
  return {
    /** Goes to what a name stands for: to the first bad value of an op, else to its last value. */
    async jump(to: Jump): Promise<void> {
      const run = facts.run.peek();
      if (run === undefined) return;
      facts.touched.value = true;
      if (to.kind === "line") focusLine({ file: to.file, line: to.line });
      else if (to.kind === "layer") setFilter({ ...facts.filter.peek(), layer: `^${escaped(to.name)}(/|$)` });
      else if (to.kind === "op")
        await choice.wait(graphExecutionOf(api, run, to), (trace) =>
          focusOp({ graph: to.graph, opName: to.opName, trace, owner: undefined }),
        );
      else if (to.kind === "function") await choice.wait(callOf(api, run, to), goTo);
      else never(to);
    },
    /**
     * Goes to the last tensor of a graph before the one in focus; without one, to the first call of the
     * graph.
     */
    async focusGraph(graph: GraphId): Promise<void> {
      const run = facts.run.peek();
      if (run === undefined) return;
      facts.touched.value = true;
      const at = facts.subject.peek() === "op" ? facts.graphExecution.peek() : undefined;
      const call = async () => {
        const { name } = await api.graph(run, graph);
        return lastIn(api, run, { kind: "function", graph, name: name ?? "" }, at);
      };
      await choice.wait(call(), goTo);
    },
  };
}
