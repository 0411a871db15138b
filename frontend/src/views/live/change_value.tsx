/** The form that changes the value at which the program is paused, or the reason why it cannot be changed. */
import { useState } from "preact/hooks";
import type { LiveProgram, Pause } from "../../api/live";
import { CHANGES, type ChangeName, expressionOfChange } from "../../model/live/changes";
import { readOnlyWords } from "../../model/live/program";
import { nameOf, summaryOf } from "../../model/live/tensor_rows";
import { Choice } from "../choice";
import { ShapeWords, Verdict } from "../numbers";
import type { With } from "../props";

export function ChangeValue({ store }: With<"live" | typeof ChangeForm | typeof LastChange>) {
  const program = store.live.program.value;
  const why = whyNot(program, store.live.readOnly.value);
  const pause = program?.state?.pause;
  return (
    <section class="lp-part slim" aria-label="Change the value">
      <h3 class="lp-title">Change the value</h3>
      {pause?.tensor !== undefined && <Paused pause={pause} />}
      {why === undefined && pause !== undefined ? (
        <ChangeForm key={pause.number} store={store} />
      ) : (
        <p class="dim" data-testid="live-cannot-change">
          {why}
        </p>
      )}
      <LastChange store={store} />
    </section>
  );
}

/** Why the value cannot be changed now; undefined when it can. */
function whyNot(program: LiveProgram | undefined, readOnly: string | undefined): string | undefined {
  const state = program?.state;
  if (program === undefined || state === undefined) return "The program does not answer.";
  const shut = readOnlyWords(program, readOnly);
  if (shut !== undefined) return shut;
  if (!state.may_change_values)
    return "The program does not allow it: enable breakpoints with may_change_values=True.";
  const { pause } = state;
  if (state.phase === "ended") return "The program has ended.";
  if (pause?.tensor === undefined)
    return "The program is not paused at a tensor: set a breakpoint on one and go on.";
  return pause.can_change ? undefined : pause.cannot_change || "This value cannot be changed.";
}

function Paused({ pause: { tensor } }: { readonly pause: Pause }) {
  if (tensor === undefined) return null;
  const summary = summaryOf(tensor);
  return (
    <p class="lp-paused-at line">
      <b class="ellipsis">{nameOf(tensor)}</b>
      <ShapeWords summary={summary} />
      {tensor.was_changed && <span class="tag">changed</span>}
      <Verdict summary={summary} />
    </p>
  );
}

function ChangeForm({ store }: With<"livePanel">) {
  const [name, setName] = useState<ChangeName>("nan");
  const [text, setText] = useState<string>(CHANGES[0].initial);
  const expression = expressionOfChange(name, text);
  const submit = (event: Event) => {
    event.preventDefault();
    if (expression !== undefined) void store.livePanel.changeValue(expression);
  };
  const choose = (kind: ChangeName) => {
    const next = CHANGES.find((one) => one.name === kind) ?? CHANGES[0];
    setName(next.name);
    setText(next.initial);
  };
  return (
    <form class="line wrap lp-change" onSubmit={submit}>
      <KindChoice name={name} choose={choose} />
      <input
        class={`slice-field framed mono ${name === "free" ? "lp-expression grow" : "lp-number"}`}
        aria-label={CHANGES.find((one) => one.name === name)?.field}
        aria-invalid={expression === undefined}
        autocomplete="off"
        spellcheck={false}
        value={text}
        data-testid="live-change-text"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" class="small" disabled={expression === undefined} data-testid="live-change">
        Change
      </button>
      <code class="dim ellipsis whole">{expression ?? "not a number"}</code>
    </form>
  );
}

interface KindProps {
  readonly name: ChangeName;
  readonly choose: (name: ChangeName) => void;
}

function KindChoice({ name, choose }: KindProps) {
  return (
    <Choice
      options={CHANGES.map((change) => ({ value: change.name, title: change.title }))}
      value={name}
      choose={choose}
      label="How to change the value"
      testId="live-change-kind"
    />
  );
}

/** What came of the last change at this pause. */
function LastChange({ store }: With<"live" | "livePanel">) {
  const changed = store.livePanel.changed.value;
  if (changed === undefined || changed.pause !== store.live.state.value?.pause?.number) return null;
  return (
    <p class={changed.done ? "good" : "bad"} role="status" data-testid="live-changed">
      {changed.sentence}
    </p>
  );
}
