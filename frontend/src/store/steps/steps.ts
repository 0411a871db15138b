/** The steps of the run: the one in focus, and the same op or function in others. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { Api, Named, Order } from "../../api/routes";
import type { ExecutionIndex, RunName } from "../../base/ids";
import { shown } from "../../base/loaded";
import { exactly } from "../../base/text";
import { type ExecutionRow, executionRow, type GraphExecutionRow, graphExecutionRow } from "../../model/rows";
import { type StepOf, stepsBeside, stepsOf, within } from "../../model/steps";
import type { Choice, FocusedFacts, VerbDeps } from "../focus/facts";
import { rowAt, showExecution, showRow } from "../focus/verbs";
import type { Lists } from "../lists/lists";
import type { FilterVerbs } from "../lists/run_lists";
import { type ByKey, both, type Deps, ready } from "../run/run";

/** Most bins of the bar over the steps of a process. */
const BINS = 200;
/** Rows of one step that may be of other outputs of the op, or of other graphs of its name. */
const FEW = 64;
const LATEST: Order = { sort: "wall_time", descending: "true" };

/** What is in focus, in the words of a filter. */
interface InFocus {
  readonly step: number;
  readonly host: string | undefined;
  readonly list: "executions" | "graph_executions";
  readonly named: Named;
  readonly slot: number;
}

export function createSteps(
  { api, facts }: Deps<FocusedFacts>,
  byKey: ByKey,
  lists: ReadonlySignal<Lists | undefined>,
) {
  const steps = byKey(
    () => both(facts.run.value, facts.status.value?.generation),
    ([run], signal) => api.steps(run, BINS, signal),
    1,
  );
  const inFocus = byKey(
    () => {
      const isOp = facts.subject.value === "op" && facts.graphExecution.value !== undefined;
      const index = isOp ? facts.graphExecution.value : facts.execution.value;
      return both(facts.run.value, index === undefined ? undefined : { isOp, index });
    },
    () => focusOf({ facts, lists }),
  );
  const ofFocus = computed(() => {
    const hosts = shown(steps.value)?.hosts;
    return hosts === undefined ? undefined : stepsOf(hosts, shown(inFocus.value)?.host);
  });
  return {
    /** The steps of the process in focus. */
    ofFocus,
    /** The step in focus, of so many. */
    step: computed((): StepOf | undefined => {
      const step = ready(inFocus.value)?.step;
      const of = ofFocus.value?.num_steps;
      return step === undefined || of === undefined ? undefined : { step, of };
    }),
    inFocus,
  };
}

function focusOf(deps: Pick<VerbDeps, "facts" | "lists">) {
  const { facts, lists } = deps;
  const trace = facts.subject.peek() === "op" ? facts.graphExecution.peek() : undefined;
  if (trace === undefined) return executionInFocus(lists.peek(), facts.execution.peek());
  const row = rowAt(deps, trace);
  return row instanceof Promise ? row.then(opInFocus) : opInFocus(row);
}

function opInFocus({ step, host, opName, slot }: GraphExecutionRow): InFocus | undefined {
  if (step === undefined) return undefined;
  return { step, host, list: "graph_executions", named: { op_name: exactly(opName) }, slot };
}

async function executionInFocus(
  lists: Lists | undefined,
  index: ExecutionIndex | undefined,
): Promise<InFocus | undefined> {
  if (index === undefined || lists === undefined) return undefined;
  const page = await lists.executions.fetchAt(index);
  const { step, host, opType } = executionRow(page, index - page.begin);
  if (step === undefined) return undefined;
  return { step, host, list: "executions", named: { op_type: exactly(opType) }, slot: 0 };
}

type Steps = ReturnType<typeof createSteps>;

export function createStepVerbs(
  { api, facts }: VerbDeps,
  choice: Choice,
  steps: Steps,
  { filterGraphExecutions }: Pick<FilterVerbs, "filterGraphExecutions">,
) {
  /** Focuses the op or function in focus at its first, or at its last, row in some steps. */
  async function focusIn(step: string, isLast: boolean): Promise<void> {
    const run = facts.run.peek();
    const at = ready(steps.inFocus.peek());
    if (run === undefined || at === undefined) return;
    await choice.wait(rowIn(api, run, at, step, isLast), (row) => {
      if (row === undefined) return;
      facts.touched.value = true;
      if ("slot" in row) showRow(facts, row);
      else showExecution(facts, row.index);
    });
  }

  return {
    /** Focuses the same op or function in the step with a row of it before or after. */
    async stepBy(by: 1 | -1): Promise<void> {
      const at = ready(steps.inFocus.peek());
      const beside = at && stepsBeside(at.step, by);
      if (beside !== undefined) await focusIn(beside, by === -1);
    },
    /** Focuses the same op or function in a step. */
    async goToStep(step: number): Promise<void> {
      const of = steps.ofFocus.peek();
      if (of !== undefined) await focusIn(String(within(step, of)), false);
    },
    /** Lists the graph executions of the step in focus only, or of all steps. */
    keepToStep(isKept: boolean): void {
      const step = steps.step.peek()?.step;
      filterGraphExecutions("step", isKept && step !== undefined ? String(step) : "");
    },
  };
}

/** The first or the last row of what is in focus in some steps; undefined when there is none. */
async function rowIn(
  api: Api,
  run: RunName,
  { list, named, slot, host }: InFocus,
  step: string,
  isLast: boolean,
): Promise<ExecutionRow | GraphExecutionRow | undefined> {
  const inSteps = { ...named, step };
  const { total } = await api.namedRows(run, list, 0, 0, inSteps);
  const order = isLast ? LATEST : undefined;
  const page = await api.namedRows(run, list, 0, Math.min(FEW, total), inSteps, order);
  const numbers = Array.from({ length: page.end - page.begin }, (_, row) => row);
  if (list === "executions") return numbers.map((row) => executionRow(page, row)).find(isOf(host));
  const rows = numbers.map((row) => graphExecutionRow(page, row));
  return rows.filter((row) => row.slot === slot).find(isOf(host));
}

function isOf(host: string | undefined) {
  return (row: { readonly host: string | undefined }) => row.host === host;
}
