/** The list of breakpoints of the program, and the form that adds one. */
import { useState } from "preact/hooks";
import type { Breakpoint, Where } from "../../api/live";
import { grouped } from "../../base/text";
import { ifWords } from "../../model/live/conditions";
import { placeWords } from "../../model/live/places";
import { mayEdit } from "../../model/live/program";
import { TensorName } from "../numbers";
import { Button, Hint, IconButton } from "../panel";
import type { Of, With } from "../props";
import { BreakpointForm } from "./breakpoint_form";
import {
  ConditionField,
  conditionOfDraft,
  draftOf,
  FirstOnly,
  LogOnly,
  OF_CALLS,
  OF_TENSORS,
  Refused,
} from "./condition_field";
import { Logged } from "./logged";
import { NumberField } from "./number_field";

type Uses = "live" | "focusOpNamed" | "focusPath" | typeof BreakpointForm;

export function Breakpoints({ store }: With<Uses>) {
  const { program, readOnly, state } = store.live;
  const mayChange = mayEdit(program.value, readOnly.value);
  const all = state.value?.breakpoints ?? [];
  return (
    <div class="breakpoints" data-testid="breakpoints">
      <BreakpointForm store={store} mayChange={mayChange} />
      {all.length === 0 ? (
        <Hint>
          No breakpoints yet. Add one above, click beside a line of the source code, or press F9 on an op.
        </Hint>
      ) : (
        <ul class="breakpoint-list short grow" aria-label="Breakpoints">
          {all.map((breakpoint) => (
            <Row key={breakpoint.number} store={store} breakpoint={breakpoint} mayChange={mayChange} />
          ))}
        </ul>
      )}
    </div>
  );
}

type RowProps = With<Uses, { breakpoint: Breakpoint; mayChange: boolean }>;

function Row(props: RowProps) {
  const { store, breakpoint, mayChange } = props;
  const [isEdited, setEdited] = useState(false);
  const words = breakpoint.label || placeWords(breakpoint.where);
  const isHit = store.live.state.value?.pause?.breakpoint === breakpoint.number;
  return (
    <li
      class={`breakpoint ${isHit ? "breakpoint-hit" : ""} ${breakpoint.enabled ? "" : "breakpoint-off"}`}
      data-testid="breakpoint"
    >
      <input
        type="checkbox"
        checked={breakpoint.enabled}
        disabled={!mayChange}
        aria-label={`Breakpoint on ${words} is on`}
        data-testid="breakpoint-on"
        onChange={(event) =>
          void store.live.changeBreakpoint(breakpoint, { enabled: event.currentTarget.checked })
        }
      />
      <What store={store} breakpoint={breakpoint} words={words} withCondition={!isEdited} />
      <Counts breakpoint={breakpoint} />
      <RowTools {...props} words={words} isEdited={isEdited} setEdited={setEdited} />
      {isEdited && <Editor {...props} close={() => setEdited(false)} />}
      {breakpoint.log_only && <Logged hits={breakpoint.logged} words={words} />}
    </li>
  );
}

interface WhatProps extends Omit<RowProps, "mayChange"> {
  readonly words: string;
  readonly withCondition: boolean;
}

/** Where it is, its condition, where it stops instead, and why it cannot hit. */
function What({
  store,
  breakpoint: { where, condition, problem, note, first_only, log_only },
  words,
  withCondition,
}: WhatProps) {
  return (
    <span class="breakpoint-what slim wrap">
      {log_only && <span class="tag">log</span>}
      {isOnePlace(where) ? (
        <Button
          class="link ellipsis"
          title={`Go to ${words}`}
          testId="breakpoint-go"
          act={() => goTo(store, where)}
        >
          <Words where={where} words={words} />
        </Button>
      ) : (
        <span class="ellipsis" title={words}>
          {words}
        </span>
      )}
      {condition !== "" && withCondition && (
        <span class="breakpoint-if ellipsis" title={condition}>
          {ifWords(condition)}
          {first_only && ", first of each origin only"}
        </span>
      )}
      {note !== "" && <span class="dim breakpoint-note whole">{note}</span>}
      {problem !== "" && <span class="warning breakpoint-problem whole">⚠ {problem}</span>}
    </span>
  );
}

/** The name of an op keeps its end when there is no room for all of it. */
function Words({ where, words }: { readonly where: Where; readonly words: string }) {
  return where.op_name === "" ? words : <TensorName name={words} />;
}

interface RowToolsProps extends RowProps {
  readonly words: string;
  readonly isEdited: boolean;
  readonly setEdited: (isEdited: boolean) => void;
}

function RowTools({ store, breakpoint, mayChange, words, isEdited, setEdited }: RowToolsProps) {
  return (
    <span class="breakpoint-tools">
      <Button
        class="small"
        disabled={!mayChange}
        aria-expanded={isEdited}
        aria-label={`Change the breakpoint on ${words}`}
        testId="breakpoint-edit"
        act={() => setEdited(!isEdited)}
        text={isEdited ? "Cancel" : "Change"}
      />
      <IconButton
        label={`Remove the breakpoint on ${words}`}
        title="Remove"
        text="×"
        off={!mayChange}
        testId="breakpoint-remove"
        act={() => void store.live.removeBreakpoint(breakpoint.number)}
      />
    </span>
  );
}

/** How often it hit, at how many tensors it is, and how many hits it lets pass. */
function Counts({ breakpoint: { hits, ignore, num_tensors, where } }: Pick<RowProps, "breakpoint">) {
  return (
    <span class="breakpoint-counts dim" data-testid="breakpoint-counts">
      {grouped(hits)} {hits === 1 ? "hit" : "hits"}
      {ignore > 0 && `, lets ${grouped(ignore)} pass`}
      {!where.calls && ` · at ${grouped(num_tensors)} ${num_tensors === 1 ? "tensor" : "tensors"}`}
    </span>
  );
}

/** Whether the place is one in the recording; a pattern is many. */
export function isOnePlace({ path, op_name }: Where): boolean {
  return path !== "" || op_name !== "";
}

export function goTo(store: Of<Uses>, { path, line, op_name, function_regex }: Where): void {
  if (path !== "") void store.focusPath(path, line);
  else if (op_name !== "") void store.focusOpNamed(op_name, function_regex);
}

function Editor({ store, breakpoint, close }: With<Uses, { breakpoint: Breakpoint; close: () => void }>) {
  const [draft, setDraft] = useState(() => draftOf(breakpoint.condition));
  const [ignore, setIgnore] = useState(breakpoint.ignore);
  const [first_only, setFirst] = useState(breakpoint.first_only);
  const [log_only, setLog] = useState(breakpoint.log_only);
  const [failure, setFailure] = useState<string>();
  const condition = conditionOfDraft(draft);
  const save = async (event: Event) => {
    event.preventDefault();
    if (condition === undefined) return;
    if (await store.live.changeBreakpoint(breakpoint, { condition, ignore, first_only, log_only })) close();
    else setFailure(store.live.refusal.peek());
  };
  return (
    <form class="breakpoint-editor wrap fixed" onSubmit={(event) => void save(event)}>
      <span>if</span>
      <ConditionField
        subject={breakpoint.where.calls ? OF_CALLS : OF_TENSORS}
        draft={draft}
        change={setDraft}
        mayBeAlways
        testId="edit"
      />
      {condition !== undefined && condition !== "" && !breakpoint.where.calls && (
        <FirstOnly isOn={first_only} change={setFirst} testId="edit" />
      )}
      <Ignore ignore={ignore} setIgnore={setIgnore} />
      <LogOnly isOn={log_only} change={setLog} testId="edit" />
      <button type="submit" class="small" disabled={condition === undefined} data-testid="edit-save">
        Save
      </button>
      <Refused why={failure} testId="edit-failure" />
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
