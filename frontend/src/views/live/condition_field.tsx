/** A field for a condition: the presets of TensorBoard's first debugger with a value, or a free text. */
import { useId } from "preact/hooks";
import { conditionOf, isNumber, PRESETS, type Preset, presetOf } from "../../model/live/conditions";
import { Choice, type Option } from "../choice";

/** What the reader chose and typed. */
export interface ConditionDraft {
  /** The position of the preset; `ALWAYS` for none, `FREE` for a free text. */
  readonly choice: number;
  readonly value: string;
  readonly text: string;
}

const [ALWAYS, FREE] = [-1, -2];
export const NO_CONDITION: ConditionDraft = { choice: ALWAYS, value: "0", text: "" };
export const FIRST_PRESET: ConditionDraft = { ...NO_CONDITION, choice: 0 };

const ALWAYS_OPTION: Option<number> = { value: ALWAYS, title: "always" };

/** What a condition is on: calls have no numbers of tensors. */
interface Subject {
  readonly options: readonly Option<number>[];
  readonly names: string;
  readonly example: string;
}

export const OF_TENSORS: Subject = {
  options: [
    ...PRESETS.map(({ title, hasValue }, value) => ({ value, title: hasValue ? `${title} …` : title })),
    { value: FREE, title: "other …" },
  ],
  names: "size ninf pinf inf nan bad neg zero pos min max mean var std range step call",
  example: "step >= 120 and mean > 3",
};
export const OF_CALLS: Subject = {
  options: [{ value: FREE, title: "condition …" }],
  names: "step call",
  example: "step % 100 == 0",
};

/** The draft of a condition that is there already. */
export function draftOf(condition: string): ConditionDraft {
  if (condition === "") return NO_CONDITION;
  const found = presetOf(condition);
  if (found === undefined) return { ...NO_CONDITION, choice: FREE, text: condition };
  return { ...NO_CONDITION, choice: PRESETS.indexOf(found.preset), value: found.value || "0" };
}

/** The condition; undefined when the value of a preset is no number or the text is empty. */
export function conditionOfDraft({ choice, value, text }: ConditionDraft): string | undefined {
  if (choice === ALWAYS) return "";
  if (choice === FREE) return text.trim() || undefined;
  const preset = PRESETS[choice];
  if (preset === undefined || (preset.hasValue && !isNumber(value))) return undefined;
  return conditionOf(preset, value);
}

interface ConditionFieldProps {
  readonly subject: Subject;
  readonly draft: ConditionDraft;
  readonly change: (draft: ConditionDraft) => void;
  /** Whether there may be no condition. */
  readonly mayBeAlways: boolean;
  readonly testId: string;
}

export function ConditionField({ subject, draft, change, mayBeAlways, testId }: ConditionFieldProps) {
  const preset: Preset | undefined = PRESETS[draft.choice];
  return (
    <span class={draft.choice === FREE ? "condition condition-free" : "condition"}>
      <Choice
        options={mayBeAlways ? [ALWAYS_OPTION, ...subject.options] : subject.options}
        value={draft.choice}
        choose={(choice) => change({ ...draft, choice })}
        label="Condition"
        testId={`${testId}-preset`}
      />
      {preset?.hasValue && <ValueField draft={draft} change={change} testId={testId} />}
      {draft.choice === FREE && <FreeField subject={subject} draft={draft} change={change} testId={testId} />}
    </span>
  );
}

interface BoxProps {
  readonly isOn: boolean;
  readonly change: (isOn: boolean) => void;
  readonly testId: string;
}

/** Whether a condition stops only where it begins to hold. */
export function FirstOnly({ isOn, change, testId }: BoxProps) {
  return (
    <label title="A value is no hit if an input of its op fulfils the condition already.">
      <input
        type="checkbox"
        checked={isOn}
        data-testid={`${testId}-first`}
        onChange={(event) => change(event.currentTarget.checked)}
      />{" "}
      first of each origin only
    </label>
  );
}

/** Whether hits are noted, in place of stopping the program. */
export function LogOnly({ isOn, change, testId }: BoxProps) {
  return (
    <label title="A log point: the program goes on, and its numbers are listed here.">
      <input
        type="checkbox"
        checked={isOn}
        data-testid={`${testId}-log`}
        onChange={(event) => change(event.currentTarget.checked)}
      />{" "}
      only log
    </label>
  );
}

/** Why the program refused what a form asked for. */
export function Refused({ why, testId }: { readonly why: string | undefined; readonly testId: string }) {
  if (why === undefined) return null;
  return (
    <span class="failure" role="alert" data-testid={testId}>
      {why}
    </span>
  );
}

type FieldProps = Omit<ConditionFieldProps, "mayBeAlways">;

function ValueField({ draft, change, testId }: Omit<FieldProps, "subject">) {
  return (
    <input
      class="field framed field-number"
      inputMode="decimal"
      autocomplete="off"
      aria-label="Value to compare with"
      aria-invalid={!isNumber(draft.value)}
      data-testid={`${testId}-value`}
      value={draft.value}
      onFocus={(event) => event.currentTarget.select()}
      onInput={(event) => change({ ...draft, value: event.currentTarget.value })}
    />
  );
}

function FreeField({ subject, draft, change, testId }: FieldProps) {
  const id = useId();
  return (
    <>
      <input
        class="field framed field-text"
        autocomplete="off"
        spellcheck={false}
        maxLength={500}
        aria-label="Condition as a text"
        aria-describedby={id}
        placeholder={subject.example}
        data-testid={`${testId}-text`}
        value={draft.text}
        onInput={(event) => change({ ...draft, text: event.currentTarget.value })}
      />
      <span id={id} class="whole dim">
        names: <code>{subject.names}</code>
        {subject === OF_TENSORS && (
          <>
            , or elements: <code>any(value &gt; 1e4)</code>
          </>
        )}
      </span>
    </>
  );
}
