/** The search by name: the text of the reader, the results of the server, and where a result leads. */
import { computed, signal } from "@preact/signals";
import type { Api } from "../../api/routes";
import { type FileIndex, fileIndex, type GraphId, type RunName } from "../../base/ids";
import { never } from "../../base/loaded";
import { escaped } from "../../base/text";
import { type Group, groupsOf, type Jump, LISTED } from "../../model/find";
import type { Activity, Timer } from "../common/activity";
import { resource } from "../common/resource";
import type { Choice, FocusedFacts, VerbDeps } from "../focus/facts";
import type { FocusVerbs } from "../focus/verbs";
import type { FilterVerbs } from "../lists/run_lists";
import type { SourceVerbs } from "../source/source";
import { type CallPosition, callOf, graphExecutionOf, lastIn } from "./locate";

/** The results for `text`, which is the previous text while the newest results are loading. */
export interface Search {
  readonly text: string;
  readonly groups: readonly Group[];
}

/** Seconds without a key press before the search begins, so that not every letter is a request. */
const PAUSE_S = 0.15;

export function createSearch(api: Api, facts: FocusedFacts, timer: Timer, activity: Activity) {
  const query = signal("");
  let cancel = () => {};
  const generation = computed(() => facts.status.value?.generation);
  const key = computed(() => {
    const [run, text] = [facts.run.value, query.value];
    // A growing run gets new graphs, so the generation is part of the key.
    return run === undefined || text === "" ? undefined : { run, text, generation: generation.value };
  });
  const { loaded } = resource(
    key,
    async ({ run, text }, signal): Promise<Search> => ({
      text,
      groups: groupsOf(await api.find(run, text, LISTED + 1, signal), text),
    }),
    activity,
    facts.reconnects,
  );
  return {
    /** Undefined without a search. */
    found: loaded,
    /** Searches for a text when the reader pauses, or now; an empty text ends the search. */
    search(text: string, when: "paused" | "now" = "paused"): void {
      cancel();
      const act = () => {
        query.value = text.trim();
      };
      if (when === "now" || text.trim() === "") act();
      else cancel = timer.after(PAUSE_S, act);
    },
  };
}

/** The most ops of one name that are looked through. */
const MOST_OPS = 100;

export function createSearchVerbs(
  { api, facts }: VerbDeps,
  choice: Choice,
  { focusGraphExecution, focusExecution, focusOp, focusLine }: FocusVerbs & SourceVerbs,
  { filterGraphExecutions }: FilterVerbs,
) {
  const goTo = (call: CallPosition) => {
    if ("graphExecution" in call) void focusGraphExecution(call.graphExecution);
    else focusExecution(call.execution);
  };
  const goToOp = (run: RunName, op: Extract<Jump, { kind: "op" }>) =>
    choice.wait(graphExecutionOf(api, run, op), (graphExecution) =>
      focusOp({ graph: op.graph, opName: op.opName, graphExecution, owner: undefined }),
    );
  const jumpIn = async (run: RunName, to: Jump): Promise<void> => {
    if (to.kind === "line") focusLine({ file: to.file, line: to.line });
    else if (to.kind === "layer") filterGraphExecutions("layer", `^${escaped(to.name)}(/|$)`);
    else if (to.kind === "op") await goToOp(run, to);
    else if (to.kind === "function") await choice.wait(callOf(api, run, to), goTo);
    else never(to);
  };
  return {
    ...createPlaceVerbs({ api, facts }, choice, { focusOp, focusLine }),
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

function createPlaceVerbs(
  { api, facts }: Pick<VerbDeps, "api" | "facts">,
  choice: Choice,
  { focusOp, focusLine }: Pick<FocusVerbs & SourceVerbs, "focusOp" | "focusLine">,
) {
  return {
    /** Goes to a line of a recorded source file. */
    focusPath: (path: string, line: number) =>
      inRun(facts, (run) =>
        choice.wait(fileOf(api, run, path), (file) => {
          if (file === undefined) facts.problem.value = `The text of ${path} was not recorded.`;
          else focusLine({ file, line });
        }),
      ),
    /** Goes to the op of this name, in a function whose name fits if there is one. */
    focusOpNamed: (opName: string, functionPattern: string) =>
      inRun(facts, (run) =>
        choice.wait(opOf(api, run, opName, functionPattern), (op) => {
          if (op === undefined) facts.problem.value = `No op ${opName} is on record yet.`;
          else focusOp({ ...op, opName, graphExecution: undefined, owner: undefined });
        }),
      ),
  };
}

/** The position of a recorded source file; undefined when it is not recorded. */
export async function fileOf(api: Api, run: RunName, path: string): Promise<FileIndex | undefined> {
  const at = (await api.sourceFiles(run)).findIndex(([, recorded]) => recorded === path);
  return at < 0 ? undefined : fileIndex(at);
}

async function opOf(
  api: Api,
  run: RunName,
  opName: string,
  functionPattern: string,
): Promise<{ readonly graph: GraphId } | undefined> {
  const { ops } = await api.find(run, opName, MOST_OPS);
  const named = ops.filter(({ op_name }) => op_name === opName);
  const fits = named.find(({ graph_name }) => functionPattern !== "" && matches(functionPattern, graph_name));
  const found = fits ?? named[0];
  return found && { graph: found.graph_id };
}

/** Whether a pattern of the program, which is Python's, occurs in a name. */
function matches(pattern: string, name = ""): boolean {
  try {
    return new RegExp(pattern).test(name);
  } catch {
    return false;
  }
}

/** Does what the reader chose in the run in focus, if there is one. */
async function inRun(facts: FocusedFacts, act: (run: RunName) => Promise<void>): Promise<void> {
  const run = facts.run.peek();
  if (run === undefined) return;
  facts.touched.value = true;
  await act(run);
}

async function lastOfGraph(
  api: Api,
  facts: FocusedFacts,
  run: RunName,
  graph: GraphId,
): Promise<CallPosition> {
  const at = facts.subject.peek() === "op" ? facts.graphExecution.peek() : undefined;
  const { name } = await api.graph(run, graph);
  return lastIn(api, run, { kind: "function", graph, name: name ?? "" }, at);
}
