/** The form that changes the condition of a breakpoint, and how many hits it lets pass. */
import { useState } from "preact/hooks";
import type { Breakpoint } from "../../api/live";
import type { Store } from "../../store/store";
import { ConditionField, conditionOfDraft, draftOf, FirstOnly } from "./condition_field";
import { NumberField } from "./number_field";

interface EditorProps {
  readonly store: Store;
  readonly breakpoint: Breakpoint;
  readonly close: () => void;
}

export function Editor({ store, breakpoint, close }: EditorProps) {
  const [draft, setDraft] = useState(() => draftOf(breakpoint.condition));
  const [ignore, setIgnore] = useState(breakpoint.ignore);
  const [first_only, setFirst] = useState(breakpoint.first_only);
  const [failure, setFailure] = useState<string>();
  const condition = conditionOfDraft(draft);
  const save = async (event: Event) => {
    event.preventDefault();
    if (condition === undefined) return;
    if (await store.live.changeBreakpoint(breakpoint, { condition, ignore, first_only })) close();
    else setFailure(store.live.refusal.peek());
  };
  return (
    <form class="breakpoint-editor" onSubmit={(event) => void save(event)}>
      {!breakpoint.where.calls && (
        <>
          <span>if</span>
          <ConditionField draft={draft} change={setDraft} mayBeAlways testId="edit" />
        </>
      )}
      {condition !== undefined && condition !== "" && (
        <FirstOnly isOn={first_only} change={setFirst} testId="edit" />
      )}
      <Ignore ignore={ignore} setIgnore={setIgnore} />
      <button type="submit" class="small" disabled={condition === undefined} data-testid="edit-save">
        Save
      </button>
      {failure !== undefined && (
        <span class="failure" role="alert" data-testid="edit-failure">
          {failure}
        </span>
      )}
    </form>
  );
}

interface IgnoreProps {
  readonly ignore: number;
  readonly setIgnore: (ignore: number) => void;
}

function Ignore({ ignore, setIgnore }: IgnoreProps) {
  return (
    <span class="breakpoint-ignore">
      let
      <NumberField
        label="Hits that do not stop"
        value={ignore}
        least={0}
        change={setIgnore}
        testId="edit-ignore"
      />
      {ignore === 1 ? "hit" : "hits"} pass
    </span>
  );
}
