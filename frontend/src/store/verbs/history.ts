/** Verbs that go back and forward through the ops that were in focus. */
import { batch } from "@preact/signals";
import { canMove, current, move } from "../../model/history";
import type { VerbDeps } from "../deps";
import type { Choice } from "./choice";
import { rowAt, showSubject } from "./focus";

export function createHistoryVerbs({ facts, lists }: VerbDeps, choice: Choice) {
  function moveBy(by: 1 | -1): void {
    const history = facts.history.peek();
    if (!canMove(history, by)) return;
    const op = current(move(history, by));
    batch(() => {
      facts.history.value = move(history, by);
      facts.alert.value = undefined;
      if (op?.trace !== undefined) facts.graphExecution.value = op.trace;
      showSubject(facts, "op");
    });
    if (op?.trace === undefined) return;
    void choice.wait(rowAt(lists.peek(), op.trace), ({ owner }) => {
      if (owner !== undefined) facts.execution.value = owner;
    });
  }

  return { back: () => moveBy(-1), forward: () => moveBy(1) };
}
