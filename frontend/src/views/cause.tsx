/** What explains the alerts: the origins of bad values, or else the diagnosis of the first cause. */
import { shown } from "../base/loaded";
import { firstCauseLabel } from "../model/verdict";
import type { Store } from "../store/store";
import { Elements, Explanation } from "./cause_parts";
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
      <Explanation store={store} diagnosis={diagnosis} label={firstCauseLabel(diagnosis)} />
      <Elements store={store} loaded={store.firstBadValue.value} />
    </div>
  );
}
