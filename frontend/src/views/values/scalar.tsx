/** A scalar as text. */
import { useEffect } from "preact/hooks";
import type { ValueView } from "../../model/values/view";
import type { Store } from "../../store/store";
import { textBlock, textOf } from "../../store/values/texts";
import { Failure } from "../panel";

const ONLY = { row: 0, column: 0 } as const;

export function Scalar({ store, view }: { readonly store: Store; readonly view: ValueView }) {
  const run = store.run.value;
  void store.valueTexts.edition.value;
  const failure = store.valueTexts.failure.value;
  useEffect(() => {
    if (run !== undefined) store.valueTexts.want([textBlock(run, view, ONLY)]);
  }, [run, view]);
  if (failure !== undefined) return <Failure message={failure} />;
  const text = run === undefined ? undefined : textOf(store.valueTexts, run, view, ONLY);
  return (
    <pre class="value-scalar" data-testid="value-scalar">
      {text ?? "…"}
    </pre>
  );
}
