/** What the reader can do by name in the search field: verbs of the page, and places with a number. */
import { alertIndex } from "../base/ids";
import type { Act, Match } from "../model/find";
import type { Of, Takes } from "./props";

type Uses = Takes<
  "status" | "live.program" | "steps.ofFocus",
  "nextAlert" | "previousAlert" | "focusAlert" | "steps.goToStep" | "steps.stepBy" | "showFocusValue",
  "dock.show" | "dock.showKeys" | "live.setCardOpen" | "rules.setOpen",
  "lookAgain" | "setOnlyBad" | "showList"
>;
type Used = Of<Uses>;

interface Command {
  readonly title: string;
  /** Its key, or where it leads. */
  readonly note: string;
  /** Whether it does anything now. */
  readonly isThere?: (store: Used) => boolean;
  readonly act: (store: Used) => unknown;
}

const hasRows = ({ status }: Used) => (status.value?.num_graph_executions ?? 0) > 0;
const hasAlerts = ({ status }: Used) => (status.value?.num_alerts ?? 0) > 0;
const hasSteps = ({ steps }: Used) => (steps.ofFocus.value?.num_steps ?? 0) > 1;

/** All commands, in the order in which they are listed. */
const COMMANDS: readonly Command[] = [
  { title: "Next alert", note: "n", isThere: hasAlerts, act: (store) => store.nextAlert() },
  { title: "Previous alert", note: "p", isThere: hasAlerts, act: (store) => store.previousAlert() },
  { title: "Same op in the next step", note: "]", isThere: hasSteps, act: ({ steps }) => steps.stepBy(1) },
  { title: "Same op in the step before", note: "[", isThere: hasSteps, act: ({ steps }) => steps.stepBy(-1) },
  { title: "Show the value or the curve in focus", note: "v", act: (store) => store.showFocusValue() },
  { title: "Show the recording", note: "tab", act: ({ dock }) => dock.show(undefined) },
  {
    title: "Show the run at a glance",
    note: "tab",
    isThere: hasRows,
    act: ({ dock }) => dock.show("glance"),
  },
  { title: "Show the timeline", note: "tab", isThere: hasRows, act: ({ dock }) => dock.show("timeline") },
  { title: "Show the graph", note: "tab", isThere: hasRows, act: ({ dock }) => dock.show("graph") },
  {
    title: "Show gradients by step",
    note: "tab",
    isThere: hasRows,
    act: ({ dock }) => dock.show("gradients"),
  },
  { title: "List executions", note: "list", act: (store) => listOf(store, "executions") },
  { title: "List graph executions", note: "list", act: (store) => listOf(store, "graph_executions") },
  { title: "List bad tensors only", note: "list", isThere: hasRows, act: (store) => listBad(store, true) },
  { title: "List good tensors too", note: "list", isThere: hasRows, act: (store) => listBad(store, false) },
  {
    title: "Open the alert rules and their thresholds",
    note: "alerts",
    act: ({ rules }) => rules.setOpen(true),
  },
  {
    title: "Debug a program while it runs",
    note: "live",
    isThere: ({ live }) => live.program.value === undefined,
    act: ({ live }) => live.setCardOpen(true),
  },
  { title: "Look for new records now", note: "", act: (store) => store.lookAgain() },
  { title: "Show all keys", note: "?", act: ({ dock }) => dock.showKeys(true) },
];

function listOf(store: Used, list: "executions" | "graph_executions"): void {
  store.dock.show(undefined);
  store.showList(list);
}

function listBad(store: Used, isOnly: boolean): void {
  listOf(store, "graph_executions");
  store.setOnlyBad(isOnly);
}

/** The words that make a text a command and nothing else. */
export function isCommand(query: string): boolean {
  return query.startsWith(">");
}

/** The commands that have each word of a text at the begin of one of theirs. */
export function commandsFor(store: Used, query: string): readonly Match<Act>[] {
  const words = query.replace(/^>/, "").toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && !isCommand(query)) return [];
  return [...numbered(store, words), ...COMMANDS.filter((one) => fits(one, words, store))].map(
    ({ title, note, act }) => ({ title, note, jump: { kind: "command", act: () => act(store) } }),
  );
}

function fits({ title, isThere }: Command, words: readonly string[], store: Used): boolean {
  const own = title.toLowerCase().split(" ");
  return (isThere?.(store) ?? true) && words.every((word) => own.some((one) => one.startsWith(word)));
}

/** "step 12" and "alert 3": alerts are counted from 1, steps from 0. */
function numbered(store: Used, [what, number, ...rest]: readonly string[]): readonly Command[] {
  const at =
    number !== undefined && /^\d{1,15}$/.test(number) && rest.length === 0 ? Number(number) : undefined;
  if (at === undefined) return [];
  const { steps, status } = store;
  const numSteps = steps.ofFocus.value?.num_steps ?? 0;
  const numAlerts = status.value?.num_alerts ?? 0;
  if (what === "step" && at < numSteps)
    return [{ title: `Go to step ${at}`, note: `of ${numSteps}`, act: () => steps.goToStep(at) }];
  if (what === "alert" && at >= 1 && at <= numAlerts)
    return [
      {
        title: `Go to alert ${at}`,
        note: `of ${numAlerts}`,
        act: () => store.focusAlert(alertIndex(at - 1)),
      },
    ];
  return [];
}
