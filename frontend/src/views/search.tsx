/** The search field, with its results in a list below it. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { shown } from "../base/loaded";
import { counted } from "../base/text";
import { type Choice, choicesOf, type Group } from "../model/find";
import type { Store } from "../store/store";
import { useChange } from "./hooks";

const ID = "search-found";
const KEYS = navigator.platform.startsWith("Mac") ? "/ or ⌘K" : "/ or Ctrl+K";

/** The section that shows each kind of result. */
const SECTIONS = {
  op: ".structure",
  function: ".timeline",
  layer: ".graph-executions",
  line: ".source",
} as const;

export function Search({ store }: { readonly store: Store }) {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  /** Whether Enter was pressed before the answer arrived. */
  const [isHurried, setHurried] = useState(false);
  const query = text.trim();
  const loaded = store.found.value;
  const results = shown(loaded);
  const isFresh = results?.text === query;
  const choices = choicesOf(results?.groups ?? []);
  const isListed = isOpen && query !== "" && loaded !== undefined;

  useEffect(() => focusByKey(field), []);
  useChange(() => {
    if (isHurried && isFresh) choose(choices[0]);
    setActive(0);
  }, [results]);

  function type(next: string): void {
    setText(next);
    setOpen(true);
    setHurried(false);
    store.search(next);
  }

  function close(): void {
    setOpen(false);
    setHurried(false);
    store.search("");
  }

  function choose(choice: Choice | undefined): void {
    setHurried(false);
    if (choice === undefined) return;
    close();
    field.current?.blur();
    void store.jump(choice.jump);
    // In a narrow window the section may be out of sight.
    document.querySelector(SECTIONS[choice.jump.kind])?.scrollIntoView({ block: "nearest" });
  }

  function enter(): void {
    if (isListed && isFresh) choose(choices[active]);
    else if (query !== "") {
      setOpen(true);
      setHurried(true);
      store.search(text, "now");
    }
  }

  function onKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      if (isOpen && query !== "") close();
      else field.current?.blur();
    } else if (event.key === "Enter") enter();
    else if (step !== undefined && !isListed) type(text);
    else if (step !== undefined && choices.length > 0)
      setActive((active + step + choices.length) % choices.length);
    else return;
    event.preventDefault();
  }

  return (
    <search
      class="search"
      onFocusOut={(event) => !event.currentTarget.contains(event.relatedTarget as Node) && close()}
    >
      <input
        ref={field}
        class="search-field"
        role="combobox"
        aria-label="Find"
        aria-autocomplete="list"
        aria-expanded={isListed}
        aria-controls={isListed ? ID : undefined}
        aria-activedescendant={isListed && choices.length > 0 ? `${ID}-${active}` : undefined}
        aria-keyshortcuts="/ Control+K"
        title={`Find by name (${KEYS}); the arrow keys and Enter choose`}
        placeholder="Find op, tensor, layer, variable, function, file:line"
        data-testid="search"
        maxLength={500}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onFocus={(event) => event.currentTarget.select()}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      {isListed && (
        <div class={`search-found ${isFresh ? "" : "search-stale"}`}>
          <span class="unseen" role="status">
            {isFresh && `${counted(choices.length, "result")} listed`}
          </span>
          <div id={ID} role="listbox" aria-label="Found">
            <Groups groups={results?.groups ?? []} active={active} choose={choose} />
          </div>
          {choices.length === 0 && (
            <p class="hint">
              {loaded.kind === "failed"
                ? loaded.message
                : isFresh
                  ? `Nothing holds “${query}”.`
                  : "Looking …"}
            </p>
          )}
        </div>
      )}
    </search>
  );
}

interface GroupsProps {
  readonly groups: readonly Group[];
  readonly active: number;
  readonly choose: (choice: Choice) => void;
}

function Groups({ groups, active, choose }: GroupsProps) {
  let index = 0;
  return groups.map(({ title, choices, more }, kind) => (
    <div key={title} role="group" aria-labelledby={`${ID}-kind-${kind}`}>
      <div id={`${ID}-kind-${kind}`} class="found-kind" role="presentation">
        {title}
        {more && <span class="dim"> (the closest {choices.length})</span>}
      </div>
      {choices.map((choice) => {
        const own = index++;
        return (
          <FoundOption key={own} index={own} choice={choice} isActive={own === active} choose={choose} />
        );
      })}
    </div>
  ));
}

interface OptionProps {
  readonly index: number;
  readonly choice: Choice;
  readonly isActive: boolean;
  readonly choose: (choice: Choice) => void;
}

function FoundOption({ index, choice, isActive, choose }: OptionProps) {
  const element = useRef<HTMLDivElement>(null);
  useChange(() => {
    if (isActive) element.current?.scrollIntoView({ block: "nearest" });
  }, [isActive]);
  return (
    <div
      ref={element}
      id={`${ID}-${index}`}
      class="found"
      role="option"
      aria-selected={isActive}
      tabIndex={-1}
      title={`${choice.title} · ${choice.note}`}
      data-testid="search-found"
      // The field keeps the keyboard focus until the click ends.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => choose(choice)}
    >
      <span class="found-title">{choice.title}</span>
      <span class="found-note">{choice.note}</span>
    </div>
  );
}

/** The keys of the search: "/" outside of fields, Ctrl+K and ⌘K everywhere. */
function focusByKey(field: RefObject<HTMLInputElement | null>): () => void {
  const onKey = (event: KeyboardEvent) => {
    const inField =
      event.target instanceof HTMLElement && event.target.closest("input, select, textarea") !== null;
    const isSlash = event.key === "/" && !inField && !event.ctrlKey && !event.metaKey && !event.altKey;
    const isK =
      event.key.toLowerCase() === "k" && event.ctrlKey !== event.metaKey && !event.altKey && !event.shiftKey;
    if (!isSlash && !isK) return;
    event.preventDefault();
    field.current?.focus();
    field.current?.select();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
