/** What the card of an origin and the diagnosis of a first cause have in common. */
import type { Alert, Example } from "../api/answers";
import type { ValueRef } from "../api/values";
import type { Loaded } from "../base/loaded";
import type { Target } from "../model/neighbourhood";
import type { Store } from "../store/store";

/** A change that helps: the part of the line and what to write instead, or a line that is like it. */
export function Change({ example: { before, after } }: { readonly example: Example }) {
  return (
    <p class="change" data-testid="change">
      {before === undefined ? (
        "Example:"
      ) : (
        <>
          <del>
            <code>{before}</code>
          </del>{" "}
          →
        </>
      )}{" "}
      <ins>
        <code>{after}</code>
      </ins>
    </p>
  );
}

interface ElementsProps {
  readonly store: Store;
  readonly loaded: Loaded<ValueRef | undefined> | undefined;
}

/** A link to the elements of a value, if they are on record. */
export function Elements({ store, loaded }: ElementsProps) {
  if (loaded?.kind !== "ready" || loaded.value === undefined) return null;
  const value = loaded.value;
  return (
    <p>
      <button type="button" class="link" data-testid="first-bad-value" onClick={() => store.showValue(value)}>
        Show its elements
      </button>
    </p>
  );
}

/** Goes where a link leads; the value of the first cause is also its alert. */
export function follow(store: Store, target: Target): void {
  const list = store.alertList.peek();
  const index = list?.overview.peek()?.firstCause;
  const page = index === undefined ? undefined : list?.pages.at(index);
  if (index !== undefined && page !== undefined && leadsTo(target, page.alerts[index - page.begin]))
    void store.focusAlert(index);
  else store.follow(target);
}

/** Whether a link leads to the value of the alert. */
function leadsTo(target: Target, alert: Alert | undefined): boolean {
  if (target.kind === "execution") return target.index === alert?.execution_index;
  return (
    target.kind === "op" && target.trace !== undefined && target.trace === alert?.graph_execution_trace_index
  );
}
