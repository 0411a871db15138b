/** The ways to continue: over some calls, until a condition holds for any watched tensor, or on. */
import { useState } from "preact/hooks";
import type { Continuation } from "../../api/live";
import { Popover } from "../popover";
import type { With } from "../props";
import {
  type ConditionDraft,
  ConditionField,
  conditionOfDraft,
  FIRST_PRESET,
  OF_TENSORS,
} from "./condition_field";
import { NumberField } from "./number_field";

/** The calls that TensorBoard's first debugger offered. */
const CALLS = 5;

interface ContinueMenuProps extends With<"live"> {
  /** Why the program cannot continue now. */
  readonly why: string | undefined;
}

export function ContinueMenu({ store, why }: ContinueMenuProps) {
  // The choices stay for the next time.
  const [calls, setCalls] = useState(CALLS);
  const [draft, setDraft] = useState(FIRST_PRESET);
  return (
    <Popover
      label="▾"
      name="Continue until"
      className="live-button level live-more"
      title={why ?? "Continue until …"}
      isOff={why !== undefined}
      testId="live-continue-more"
    >
      {(close) => {
        const go = (until: Continuation) => {
          close();
          void store.live.continueUntil(until);
        };
        return (
          <div class="continue">
            <CallsForm calls={calls} setCalls={setCalls} go={go} />
            <ConditionForm draft={draft} setDraft={setDraft} go={go} />
            <p class="dim">Breakpoints stop the program in any case. The calls count the current one.</p>
          </div>
        );
      }}
    </Popover>
  );
}

interface Going {
  readonly go: (until: Continuation) => void;
}

interface CallsFormProps extends Going {
  readonly calls: number;
  readonly setCalls: (calls: number) => void;
}

function CallsForm({ calls, setCalls, go }: CallsFormProps) {
  const submit = (event: Event) => {
    event.preventDefault();
    go({ calls });
  };
  return (
    <form class="continue-row" onSubmit={submit}>
      <span>Over</span>
      <NumberField label="Calls" value={calls} least={1} change={setCalls} testId="continue-calls" />
      <span>{calls === 1 ? "call" : "calls"}</span>
      <button type="submit" class="small" data-testid="continue-over">
        Go
      </button>
    </form>
  );
}

interface ConditionFormProps extends Going {
  readonly draft: ConditionDraft;
  readonly setDraft: (draft: ConditionDraft) => void;
}

function ConditionForm({ draft, setDraft, go }: ConditionFormProps) {
  const condition = conditionOfDraft(draft);
  const submit = (event: Event) => {
    event.preventDefault();
    if (condition !== undefined) go({ condition });
  };
  return (
    <form class="continue-row" onSubmit={submit}>
      <span>Until any watched tensor</span>
      <ConditionField
        subject={OF_TENSORS}
        draft={draft}
        change={setDraft}
        mayBeAlways={false}
        testId="continue-condition"
      />
      <button type="submit" class="small" disabled={condition === undefined} data-testid="continue-until">
        Go
      </button>
    </form>
  );
}
