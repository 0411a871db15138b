/** The form that adds a breakpoint: its kind, what it is on, and its condition. */
import { useState } from "preact/hooks";
import type { Where } from "../../api/live";
import { isCarried } from "../../model/live/conditions";
import { newBreakpoint, place } from "../../model/live/places";
import { Choice } from "../choice";
import type { With } from "../props";
import {
  type ConditionDraft,
  ConditionField,
  conditionOfDraft,
  FirstOnly,
  LogOnly,
  NO_CONDITION,
  OF_CALLS,
  OF_TENSORS,
  Refused,
} from "./condition_field";

interface Kind {
  readonly title: string;
  /** What the field is for; undefined for a kind without one. */
  readonly field: string | undefined;
  readonly example: string;
  readonly mayBeEmpty?: true;
  readonly ofCalls?: true;
  /** The condition of the kind, in place of one that the reader gives. */
  readonly condition?: string;
  readonly where: (text: string) => Partial<Where>;
}

const KINDS: readonly Kind[] = [
  { title: "an op", field: "Name of the op", example: "loss/Log", where: (op_name) => opWhere(op_name) },
  { title: "ops of a type", field: "Type of the ops", example: "MatMul", where: (op_type) => ({ op_type }) },
  {
    title: "a layer",
    field: "Layer (a regular expression)",
    example: "encoder/dense",
    where: (layer_regex) => ({ layer_regex }),
  },
  {
    title: "names",
    field: "Name of the ops (a regular expression)",
    example: "gradients/.*MatMul",
    where: (name_regex) => ({ name_regex }),
  },
  {
    title: "a function",
    field: "Function whose tensors (a regular expression)",
    example: "train_step",
    where: (function_regex) => ({ function_regex }),
  },
  {
    title: "a line",
    field: "File and line",
    example: "/home/me/train.py:68",
    where: (text) => lineWhere(text),
  },
  {
    title: "calls",
    field: "Function that is called (a regular expression; empty for all)",
    example: "train_step, or empty for all",
    mayBeEmpty: true,
    ofCalls: true,
    where: (function_regex) => ({ calls: true, function_regex }),
  },
  { title: "any NaN", field: undefined, example: "", condition: "nan > 0", where: () => ({}) },
  { title: "any NaN or ±∞", field: undefined, example: "", condition: "bad > 0", where: () => ({}) },
];

/** "Log:0" is one output of an op, "Log" all. */
function opWhere(text: string): Partial<Where> {
  const [, op_name = text, slot] = /^(.*?):(\d+)$/.exec(text) ?? [];
  return slot === undefined ? { op_name } : { op_name, slot: Number(slot) };
}

/** Without a line the place is not complete. */
function lineWhere(text: string): Partial<Where> {
  const [, path, line] = /^(.+):(\d+)$/.exec(text) ?? [];
  return path === undefined ? {} : { path, line: Number(line) };
}

/** Undefined when something is missing. */
function whereOf(kind: Kind, text: string): Where | undefined {
  const typed = text.trim();
  if (kind.field !== undefined && typed === "" && kind.mayBeEmpty !== true) return undefined;
  const parts = kind.where(typed);
  return kind.field !== undefined && Object.keys(parts).length === 0 ? undefined : place(parts);
}

function useKind() {
  const [kind, setKind] = useState(KINDS[0] as Kind);
  const [draft, setDraft] = useState(NO_CONDITION);
  const choose = (chosen: Kind) => {
    // Conditions on tensors mean nothing to calls.
    if (chosen.ofCalls !== kind.ofCalls) setDraft(NO_CONDITION);
    setKind(chosen);
  };
  return { kind, choose, draft, setDraft };
}

export function BreakpointForm({ store, mayChange }: With<"live", { mayChange: boolean }>) {
  const { kind, choose, draft, setDraft } = useKind();
  const [text, setText] = useState("");
  const [first, setFirst] = useState<boolean>();
  const [isLog, setLog] = useState(false);
  const [failure, setFailure] = useState<string>();
  const where = whereOf(kind, text);
  const condition = kind.condition ?? conditionOfDraft(draft);
  const add = async (event: Event) => {
    event.preventDefault();
    if (where === undefined || condition === undefined) return;
    const isAdded = await store.live.setBreakpoint(newBreakpoint(where, condition, first, isLog));
    setFailure(isAdded ? undefined : store.live.refusal.peek());
    if (isAdded) setText("");
  };
  return (
    <form
      class="breakpoint-form raised wrap fixed ruled"
      aria-label="Add a breakpoint"
      onSubmit={(event) => void add(event)}
    >
      <Place kind={kind} setKind={choose} text={text} setText={setText} />
      <If kind={kind} draft={draft} setDraft={setDraft} />
      {condition !== undefined && condition !== "" && kind.ofCalls !== true && (
        <FirstOnly isOn={first ?? isCarried(condition)} change={setFirst} testId="breakpoint" />
      )}
      <LogOnly isOn={isLog} change={setLog} testId="breakpoint" />
      <button
        type="submit"
        class="small"
        disabled={!mayChange || where === undefined || condition === undefined}
        data-testid="breakpoint-add"
      >
        Add
      </button>
      <Refused why={failure} testId="breakpoint-failure" />
    </form>
  );
}

interface PlaceProps {
  readonly kind: Kind;
  readonly setKind: (kind: Kind) => void;
  readonly text: string;
  readonly setText: (text: string) => void;
}

function Place({ kind, setKind, text, setText }: PlaceProps) {
  return (
    <>
      <label>
        Stop at{" "}
        <Choice
          options={KINDS.map(({ title }, value) => ({ value, title }))}
          value={KINDS.indexOf(kind)}
          choose={(i) => setKind(KINDS[i] ?? kind)}
          testId="breakpoint-kind"
        />
      </label>
      {kind.field !== undefined && (
        <input
          class="field framed field-text"
          aria-label={kind.field}
          title={kind.field}
          placeholder={kind.example}
          autocomplete="off"
          spellcheck={false}
          maxLength={1000}
          data-testid="breakpoint-text"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
    </>
  );
}

interface IfProps {
  readonly kind: Kind;
  readonly draft: ConditionDraft;
  readonly setDraft: (draft: ConditionDraft) => void;
}

function If({ kind, draft, setDraft }: IfProps) {
  if (kind.condition !== undefined) return null;
  return (
    <>
      <span>if</span>
      <ConditionField
        subject={kind.ofCalls === true ? OF_CALLS : OF_TENSORS}
        draft={draft}
        change={setDraft}
        mayBeAlways
        testId="breakpoint-condition"
      />
    </>
  );
}
