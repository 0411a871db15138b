/** What explains the alerts: the origins of bad values, or else the diagnosis of the first cause. */
import type { Diagnosis } from "../api/answers";
import { shown } from "../base/loaded";
import { counted } from "../base/text";
import type { Target } from "../model/neighbourhood";
import { firstCauseLabel } from "../model/verdict";
import type { Store } from "../store/store";
import { Change, Elements, follow } from "./cause_parts";
import { Words } from "./numbers";
import { ExpectedOrigins, OriginCard } from "./origin_card";
import { Failure, Hint } from "./panel";

export function Cause({ store }: { readonly store: Store }) {
  const loaded = store.originList.value;
  const { shown: origin, expected } = store.origins.value;
  if (origin !== undefined) return <OriginCard store={store} origin={origin} />;
  if (loaded === undefined || (loaded.kind === "loading" && loaded.stale === undefined))
    return loaded === undefined ? null : <Hint>Looking for the cause …</Hint>;
  return (
    <>
      {loaded.kind === "failed" && <Failure message={loaded.message} />}
      {expected.length > 0 && <AllExpected store={store} />}
      <FirstCause store={store} isBadExplained={expected.length > 0} />
    </>
  );
}

/** Bad values that harm nothing, and no others. */
function AllExpected({ store }: { readonly store: Store }) {
  return (
    <div class="all-expected" data-testid="all-expected">
      <p>
        <b>No NaN or ∞ of this run does harm, as far as it is recorded.</b>
      </p>
      <ExpectedOrigins store={store} />
    </div>
  );
}

interface FirstCauseProps {
  readonly store: Store;
  /** Whether bad values are explained already, so that only an alert of another kind is left. */
  readonly isBadExplained: boolean;
}

/** The diagnosis of the first cause: what it is, why it is bad, and which line of the program computes it. */
function FirstCause({ store, isBadExplained }: FirstCauseProps) {
  const loaded = store.firstBad.value;
  const diagnosis = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (diagnosis === undefined) return loaded?.kind === "ready" ? null : <Hint>Looking for the cause …</Hint>;
  if (isBadExplained && diagnosis.alert?.bad !== false) return null;
  return (
    <div class="first-bad" data-testid="first-bad">
      <Explanation store={store} diagnosis={diagnosis} />
      <Elements store={store} loaded={store.firstBadValue.value} />
    </div>
  );
}

function Explanation({ store, diagnosis }: { readonly store: Store; readonly diagnosis: Diagnosis }) {
  const { what, why, where, help, example, missing } = diagnosis;
  const before = diagnosis.index ?? 0;
  const go = (target: Target) => follow(store, target);
  return (
    <>
      <p>
        <b>{firstCauseLabel(diagnosis)}</b>
        <Words phrases={what} follow={go} />
      </p>
      {why.length > 0 && (
        <p>
          <Words phrases={why} follow={go} />
        </p>
      )}
      {missing !== undefined && <p class="dim">{missing}</p>}
      {before > 0 && <p class="dim">{counted(before, "alert")} before it</p>}
      {where.length > 0 && (
        <p class="where">
          <Words phrases={where} follow={go} />
        </p>
      )}
      {help !== undefined && <p class="help">{help}</p>}
      {example !== undefined && <Change example={example} />}
    </>
  );
}
