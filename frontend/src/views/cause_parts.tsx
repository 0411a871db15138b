/** What the card of an origin, the diagnosis of a first cause and that of an alert have in common. */
import type { Alert, Diagnosis, Example, FirstBadElement } from "../api/answers";
import type { ValueRef } from "../api/values";
import type { Loaded } from "../base/loaded";
import { counted } from "../base/text";
import type { Target } from "../model/neighbourhood";
import { Prose, Words } from "./numbers";
import { Button } from "./panel";
import type { Of, With } from "./props";
import { BadElementButton } from "./values/bad_element";

interface ExplanationProps extends With<typeof follow> {
  readonly diagnosis: Diagnosis;
  /** Words before the first sentence. */
  readonly label?: string;
}

/** What a value is, why, what would have to be recorded, where it is computed, and what helps. */
export function Explanation({ store, diagnosis, label }: ExplanationProps) {
  const { what, why, where, help, example, missing } = diagnosis;
  const before = diagnosis.index ?? 0;
  const go = (target: Target) => follow(store, target);
  return (
    <>
      <p>
        {label !== undefined && <b>{label}</b>}
        <Words phrases={what} follow={go} />
      </p>
      {why.length > 0 && (
        <p>
          <Words phrases={why} follow={go} />
        </p>
      )}
      {missing !== undefined && (
        <p class="dim">
          <Prose text={missing} />
        </p>
      )}
      {before > 0 && <p class="dim">{counted(before, "alert")} before it</p>}
      {where.length > 0 && (
        <p class="where">
          <Words phrases={where} follow={go} />
        </p>
      )}
      {help !== undefined && (
        <p class="help dim">
          <Prose text={help} />
        </p>
      )}
      {example !== undefined && <Change example={example} />}
    </>
  );
}

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

interface ElementsProps extends With<"showValue" | typeof BadElementButton> {
  readonly loaded: Loaded<ValueRef | undefined> | undefined;
  /** Where the value is bad. */
  readonly element: FirstBadElement | undefined;
}

/** Links to the elements of a value, if they are on record, and to the first bad one. */
export function Elements({ store, loaded, element }: ElementsProps) {
  if (loaded?.kind !== "ready" || loaded.value === undefined) return null;
  const value = loaded.value;
  return (
    <p>
      <Button testId="first-bad-value" act={() => store.showValue(value)} text="Show its elements" />{" "}
      <BadElementButton store={store} value={value} element={element} />
    </p>
  );
}

/** Goes where a link leads; the value of the first cause is also its alert. */
export function follow(store: Of<"alertList" | "focusAlert" | "follow">, target: Target): void {
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
    target.kind === "op" &&
    target.graphExecution !== undefined &&
    target.graphExecution === alert?.graph_execution_trace_index
  );
}
