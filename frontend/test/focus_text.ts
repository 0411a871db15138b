/**
 * Prints the focus of a store as text, such as "alert 3 · step 6 Log:0 · call #61": the alert, the tensor, and
 * the call that it ran in. A call that is the subject has no tensor before it.
 */
import type { Store } from "../src/store/store";
import { OPS } from "./fixture/program";

export function focusText(store: Store): string {
  const alert = store.alert.value === undefined ? [] : [`alert ${store.alert.value}`];
  const call = store.execution.value === undefined ? [] : [`call #${store.execution.value}`];
  return [...alert, ...rowText(store), ...opText(store), ...call].join(" · ");
}

/** The row in focus of the list of graph executions. Each step has the same ops. */
function rowText({ graphExecution }: Store): string[] {
  const at = graphExecution.value;
  return at === undefined ? [] : [`step ${Math.floor(at / OPS.length)} ${nameAt(at)}:0`];
}

/** The op in focus, where it is not that of the row; nothing when a call is the subject. */
function opText({ subject, op, graphExecution }: Store): string[] {
  const at = graphExecution.value;
  if (subject.value === "execution") return [];
  if (op.value === undefined) return ["no op"];
  const isOfRow = at !== undefined && op.value.graphExecution === at && op.value.opName === nameAt(at);
  return isOfRow ? [] : [`op ${op.value.opName}`];
}

function nameAt(graphExecution: number): string | undefined {
  return OPS[graphExecution % OPS.length]?.name;
}

/** Phrases as one text. */
export function phrasesText(phrases: readonly { readonly text: string }[]): string {
  return phrases.map(({ text }) => text).join("");
}
