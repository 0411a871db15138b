/** What the reader can do in the panels of a program that runs. */
import { batch } from "@preact/signals";
import type { Evaluation, LiveTensor } from "../../api/live";
import type { Api } from "../../api/routes";
import { liveTensorNumber, type ProgramId } from "../../base/ids";
import { type Loaded, sentence } from "../../base/loaded";
import { groupsOf, LISTED, matchesOf } from "../../model/find";
import type { CurveNumber } from "../../model/live/curves";
import type { ListedOp } from "../../model/live/op_list";
import { boxChange } from "../../model/live/op_marks";
import type { Grouping, OpTree, TreeNode } from "../../model/live/op_tree";
import { atTensor, breakpointAt, isSamePlace, newBreakpoint } from "../../model/live/places";
import type { NameFilter } from "../../model/live/tensor_rows";
import { displayName } from "../../model/names";
import type { Facts } from "../facts";
import type { Live } from "../live/live";
import type { Verbs } from "../verbs/verbs";
import type { Evaluated, PanelFacts } from "./facts";

export interface PanelVerbDeps {
  readonly api: Pick<Api, "find">;
  readonly store: Facts;
  readonly live: Live;
  readonly facts: PanelFacts;
  readonly verbs: Pick<Verbs, "focusOp" | "showValue" | "showOccurrence" | "jump">;
}

export function createPanelVerbs(deps: PanelVerbDeps) {
  return {
    ...createTensorVerbs(deps),
    ...createNameVerb(deps),
    ...createTreeVerbs(deps),
    ...createExpressionVerbs(deps),
    setCurveNumber(name: CurveNumber): void {
      deps.facts.curveNumber.value = name;
    },
  };
}

function createTensorVerbs({ live, facts, verbs }: PanelVerbDeps) {
  function show(number: number, program: ProgramId | undefined): void {
    if (program === undefined) return;
    facts.isFollowing.value = true;
    verbs.showValue({ kind: "live", program, tensor: liveTensorNumber(number) });
  }
  return {
    setTensorFilter(filter: NameFilter): void {
      facts.tensorFilter.value = filter;
    },
    /** Marks a tensor in the list, and shows its op in the other panes. */
    chooseTensor({ number, graph_id: graph, op_name: opName }: LiveTensor): void {
      facts.chosenTensor.value = number;
      if (graph !== "") verbs.focusOp({ graph, opName, graphExecution: undefined, owner: undefined });
    },
    /** Opens the elements of a tensor that the program holds. */
    showLiveValue: (number: number) => show(number, facts.rowsOf.peek()),
    /** Opens the result of an expression. */
    showResult: ({ program, result }: Evaluated) => {
      if (result.kind === "ready") show(result.value.tensor, program);
    },
    /** Shows an earlier or later time of the open tensor; the newest one is followed. */
    showSeen(number: number, program: ProgramId, isNewest: boolean): void {
      facts.isFollowing.value = isNewest;
      verbs.showOccurrence({ kind: "live", program, tensor: liveTensorNumber(number) });
    },
    continueTo: (tensor: LiveTensor) => live.continueUntil({ tensor: atTensor(tensor) }),
    ...createMarkVerbs(live),
  };
}

/** Leads to what a name stands for in the recording: an op, a tensor, a function or an argument. */
function createNameVerb({ api, store, verbs }: PanelVerbDeps) {
  return {
    async focusName(name: string): Promise<void> {
      const run = store.run.peek();
      if (run === undefined) return;
      // An argument has its type after its name.
      const text = displayName(name.replace(/: .*$/s, ""));
      try {
        const matches = matchesOf(groupsOf(await api.find(run, text, LISTED), text));
        const exact = matches.find(({ title }) => title === text) ?? matches[0];
        if (exact === undefined) throw new Error(`The recording has nothing named ${text} yet.`);
        await verbs.jump(exact.jump);
      } catch (error) {
        store.problem.value = sentence(error);
      }
    },
  };
}

/** Breakpoints and curves of a tensor. */
function createMarkVerbs(live: Live) {
  const watchedOf = (tensor: LiveTensor) =>
    live.state.value?.watched.find(({ where }) => isSamePlace(where, atTensor(tensor)));
  return {
    hasBreakpoint: (tensor: LiveTensor) =>
      breakpointAt(live.state.value?.breakpoints ?? [], atTensor(tensor)) !== undefined,
    isWatched: (tensor: LiveTensor) => watchedOf(tensor) !== undefined,
    toggleTensor: (tensor: LiveTensor) => live.toggle(atTensor(tensor)),
    toggleWatch(tensor: LiveTensor): Promise<boolean> {
      const there = watchedOf(tensor);
      return there === undefined ? live.watch(atTensor(tensor)) : live.unwatch(there.number);
    },
  };
}

function createTreeVerbs({ live, facts, verbs }: PanelVerbDeps) {
  return {
    setGrouping(grouping: Grouping): void {
      batch(() => {
        facts.grouping.value = grouping;
        facts.openGroups.value = undefined;
        facts.boxRefusal.value = undefined;
      });
    },
    setOpFilter(filter: NameFilter): void {
      batch(() => {
        facts.opFilter.value = filter;
        facts.openGroups.value = undefined;
        facts.boxRefusal.value = undefined;
      });
    },
    setOpenGroups(keys: ReadonlySet<string>): void {
      facts.openGroups.value = keys;
    },
    focusListedOp({ graph, name: opName }: ListedOp): void {
      verbs.focusOp({ graph, opName, graphExecution: undefined, owner: undefined });
    },
    /** Sets the breakpoints of a node of the tree, or removes them. */
    async toggleBox(tree: OpTree, node: TreeNode): Promise<void> {
      const isFiltered = facts.opFilter.peek().text.trim() !== "";
      const change = boxChange(tree, node, live.state.peek()?.breakpoints ?? [], isFiltered);
      facts.boxRefusal.value = change.kind === "refused" ? change.sentence : undefined;
      if (change.kind === "remove") for (const number of change.numbers) await live.removeBreakpoint(number);
      if (change.kind === "set")
        for (const where of change.wheres) if (!(await live.setBreakpoint(newBreakpoint(where)))) return;
    },
  };
}

/** Expressions that stay in the history. */
const MOST_EVALUATED = 50;

function createExpressionVerbs(deps: PanelVerbDeps) {
  const { live, facts } = deps;
  let last = 0;
  const keep = (change: (all: readonly Evaluated[]) => readonly Evaluated[]) => {
    facts.evaluated.value = change(facts.evaluated.peek());
  };
  const settle = (number: number, result: Loaded<Evaluation>) =>
    keep((all) => all.map((one) => (one.number === number ? { ...one, result } : one)));
  return {
    async evaluate(expression: string): Promise<void> {
      const program = live.program.peek()?.id;
      if (expression.trim() === "" || program === undefined) return;
      const number = ++last;
      const entry = { number, program, expression: expression.trim(), result: WAITING };
      keep((all) => [entry, ...all].slice(0, MOST_EVALUATED));
      try {
        settle(number, { kind: "ready", value: await live.evaluate(entry.expression) });
      } catch (error) {
        settle(number, { kind: "failed", message: sentence(error) });
      }
    },
    forgetEvaluated: (number: number) => keep((all) => all.filter((one) => one.number !== number)),
    changeValue: (expression: string) => changeValue(deps, expression.trim()),
  };
}

const WAITING: Loaded<Evaluation> = { kind: "loading", stale: undefined };

/** Changes the value at which the program is paused, and says what came of it. */
async function changeValue({ store, live, facts }: PanelVerbDeps, expression: string): Promise<void> {
  const pause = live.state.peek()?.pause;
  if (pause?.tensor === undefined || expression === "") return;
  const done = await live.changeValue(pause.tensor.number, expression);
  const why = live.refusal.peek() ?? "The value was not changed.";
  const words = done ? `Changed to ${expression}: the ops after it get the new value.` : why;
  batch(() => {
    facts.changed.value = { pause: pause.number, sentence: words, done };
    if (done) store.liveEdition.value = store.liveEdition.peek() + 1;
  });
}
