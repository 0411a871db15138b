/**
 * The filter of the list that is shown: a chip for each term, and a field that completes what is written.
 * Enter adds a term, Backspace in the empty field removes the last one, and a click on one edits it.
 */
import { useRef, useState } from "preact/hooks";
import { shown } from "../../base/loaded";
import { complete, type Known, type Suggestion, thingsOf, wrongWith } from "../../model/completion";
import { readTerm, type Term, tokens, writeTerm } from "../../model/filters";
import { longOf } from "../../model/inventory";
import { Over } from "../popover";
import type { Of, Takes, With } from "../props";

type Uses = Takes<"shownList" | "tables.wish" | "tables.names" | "tables.complete", "addTerm" | "removeTerm">;

const ID = "list-filter";

interface FieldState {
  readonly text: string;
  readonly isOpen: boolean;
  /** The suggestion that Enter takes; undefined for what is written. */
  readonly active: number | undefined;
  readonly problem: string | undefined;
}

const EMPTY: FieldState = { text: "", isOpen: false, active: undefined, problem: undefined };

export function FilterField({ store }: With<Uses>) {
  const frame = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const [state, setState] = useState(EMPTY);
  const verbs = fieldVerbs(store, state, setState);
  const { filter } = store.tables.wish.value;
  const edit = (term: Term) => {
    store.removeTerm(term);
    verbs.type(writeTerm(term));
    field.current?.focus();
  };
  const remove = (term: Term) => {
    store.removeTerm(term);
    field.current?.focus();
  };
  return (
    <div
      ref={frame}
      class={`list-filter framed ${state.problem === undefined ? "" : "list-filter-wrong"}`}
      role="group"
      aria-label="Filter of the list"
      onFocusOut={(event) => !event.currentTarget.contains(event.relatedTarget as Node) && verbs.close()}
    >
      {filter.map((term) => (
        <Chip key={writeTerm(term)} term={term} edit={edit} remove={remove} />
      ))}
      <Input store={store} field={field} state={state} verbs={verbs} isFirst={filter.length === 0} />
      {(state.isOpen || state.problem !== undefined) && (
        <Over anchor={frame} class="list-suggestions">
          {state.problem !== undefined && (
            <p class="hint failure" id={`${ID}-problem`} role="alert">
              {state.problem}
            </p>
          )}
          {state.isOpen && <Suggestions state={state} verbs={verbs} />}
        </Over>
      )}
    </div>
  );
}

interface ChipProps {
  readonly term: Term;
  readonly edit: (term: Term) => void;
  readonly remove: (term: Term) => void;
}

function Chip({ term, edit, remove }: ChipProps) {
  const text = writeTerm(term);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Delete" && event.key !== "Backspace") return;
    event.preventDefault();
    remove(term);
  };
  return (
    <span class="filter-chip" data-testid="filter-chip">
      <button
        type="button"
        class="cut nowrap"
        title={`${text} (a click edits it)`}
        onClick={() => edit(term)}
        onKeyDown={onKey}
      >
        {text}
      </button>
      <button
        type="button"
        class="filter-remove"
        aria-label={`Remove the filter ${text}`}
        title="Remove (Delete)"
        onClick={() => remove(term)}
        onKeyDown={onKey}
      >
        ×
      </button>
    </span>
  );
}

interface InputProps extends With<Uses> {
  readonly field: { current: HTMLInputElement | null };
  readonly state: FieldState;
  readonly verbs: Verbs;
  readonly isFirst: boolean;
}

function Input({ store, field, state, verbs, isFirst }: InputProps) {
  const { text, isOpen, active, problem } = state;
  const takeKey = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const last = store.tables.wish.value.filter.at(-1);
    if (event.key === "Backspace" && text === "" && last !== undefined) store.removeTerm(last);
    else if (!verbs.takeKey(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <input
      ref={field}
      class="list-filter-input"
      role="combobox"
      aria-label="Filter"
      aria-autocomplete="list"
      aria-expanded={isOpen && verbs.suggestions.length > 0}
      aria-controls={isOpen ? `${ID}-list` : undefined}
      aria-activedescendant={active === undefined || !isOpen ? undefined : `${ID}-${active}`}
      aria-invalid={problem !== undefined}
      aria-describedby={problem === undefined ? undefined : `${ID}-problem`}
      placeholder={isFirst ? "Filter, such as op:Log health:nan max>1e4" : ""}
      data-testid="list-filter"
      maxLength={1000}
      autocomplete="off"
      spellcheck={false}
      value={text}
      onInput={(event) => verbs.type(event.currentTarget.value)}
      onClick={() => verbs.type(text)}
      onKeyDown={takeKey}
    />
  );
}

interface Verbs {
  readonly suggestions: readonly Suggestion[];
  type(text: string): void;
  take(suggestion: Suggestion): void;
  close(): void;
  /** Whether the key did something. */
  takeKey(key: string): boolean;
}

function fieldVerbs(store: Of<Uses>, state: FieldState, setState: (next: FieldState) => void): Verbs {
  const list = longOf(store.shownList.value);
  const { text } = state;
  const suggestions = complete(text, list, knownValues(store, text));
  const type = (next: string) => {
    store.tables.complete(thingsOf(next));
    setState({ text: next, isOpen: true, active: undefined, problem: undefined });
  };
  const take = (suggestion: Suggestion) => {
    const term = suggestion.isWhole ? readTerm(suggestion.text) : undefined;
    if (term === undefined) return type(suggestion.text);
    store.addTerm(term);
    setState(EMPTY);
  };
  const add = () => {
    const parts = tokens(text);
    const problem = parts.map((part) => wrongWith(part, list)).find((one) => one !== undefined);
    if (problem !== undefined) return setState({ ...state, isOpen: true, problem });
    for (const term of parts.map(readTerm)) if (term !== undefined) store.addTerm(term);
    setState(EMPTY);
  };
  const close = () => setState({ ...state, isOpen: false, active: undefined });
  const takeKey = (key: string) => {
    const act = keysOf(state, setState, suggestions, { take, add })[key];
    act?.();
    return act !== undefined;
  };
  return { suggestions, type, take, close, takeKey };
}

interface Acts {
  readonly take: (suggestion: Suggestion) => void;
  readonly add: () => void;
}

function keysOf(
  state: FieldState,
  setState: (next: FieldState) => void,
  suggestions: readonly Suggestion[],
  { take, add }: Acts,
): Readonly<Record<string, () => void>> {
  const { active, isOpen, problem } = state;
  /** Goes along the suggestions, and what is written between the last and the first. */
  const step = (by: number) => {
    const count = suggestions.length + 1;
    const next = ((active ?? -1) + 1 + by + count) % count;
    setState({ ...state, isOpen: true, active: next === 0 ? undefined : next - 1 });
  };
  const enter = () => {
    const chosen = active === undefined ? undefined : suggestions[active];
    if (chosen === undefined) add();
    else take(chosen);
  };
  const leave = () => setState({ ...state, isOpen: false, active: undefined, problem: undefined });
  return {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Enter: enter,
    ...((isOpen || problem !== undefined) && { Escape: leave }),
  };
}

/** The values that rows have of what is being written. */
function knownValues({ tables }: Of<"tables.names">, text: string): readonly Known[] {
  const found = shown(tables.names.value);
  return found === undefined || found.kind !== thingsOf(text) ? [] : found.names;
}

function Suggestions({ state, verbs }: { readonly state: FieldState; readonly verbs: Verbs }) {
  return (
    <div id={`${ID}-list`} role="listbox" aria-label="Filters">
      {verbs.suggestions.map((one, place) => (
        <div
          key={one.text}
          id={`${ID}-${place}`}
          class="found line ends"
          role="option"
          aria-selected={place === state.active}
          tabIndex={-1}
          data-testid="filter-suggestion"
          // The field keeps the keyboard focus.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => verbs.take(one)}
        >
          <span class="cut nowrap mono">{one.text}</span>
          <span class="dim cut nowrap">{one.note}</span>
        </div>
      ))}
    </div>
  );
}
