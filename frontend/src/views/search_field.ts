/** The state of the search field, and what the reader does with it. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Loaded, shown } from "../base/loaded";
import { type Act, type Group, type Jump, type Match, matchesOf } from "../model/find";
import type { Search } from "../store/search/search";
import { commandsFor, isCommand } from "./commands";
import { isInField, useChange } from "./hooks";
import type { Of } from "./props";

/** The section that shows each kind of result. */
const SECTIONS = {
  op: ".structure",
  function: ".timeline",
  layer: ".graph-executions",
  line: ".source",
} as const;

/** A result of the search, or a verb of the page. */
export type Listed = Match<Jump | Act>;
export type ListedGroup = Group<Jump | Act>;

interface FieldState {
  readonly text: string;
  readonly isOpen: boolean;
  /** The position of the match that Enter takes. */
  readonly active: number;
  /** Whether Enter was pressed before the answer arrived. */
  readonly isHurried: boolean;
}

const EMPTY: FieldState = { text: "", isOpen: false, active: 0, isHurried: false };

interface Found {
  /** The text without the spaces around it. */
  readonly query: string;
  readonly loaded: Loaded<Search> | undefined;
  readonly groups: readonly ListedGroup[];
  readonly matches: readonly Listed[];
  /** Whether the results are for the text in the field, not for an earlier one. */
  readonly isFresh: boolean;
  readonly isListed: boolean;
}

interface FieldVerbs {
  type(text: string): void;
  close(): void;
  choose(match: Listed | undefined): void;
  enter(): void;
  escape(): void;
  /** Goes along the matches, or lists them; returns whether it did. */
  step(by: number): boolean;
}

type Field = RefObject<HTMLInputElement | null>;

export interface SearchField extends FieldState, Found, FieldVerbs {
  readonly field: Field;
}

export function useSearchField(store: Of<"found" | typeof commandsFor | typeof fieldVerbs>): SearchField {
  const field = useRef<HTMLInputElement>(null);
  const [state, setState] = useState(EMPTY);
  const change = (parts: Partial<FieldState>) => setState((old) => ({ ...old, ...parts }));
  const found = foundFor(store, state);
  const verbs = fieldVerbs(store, field, { ...state, ...found }, change);
  useEffect(() => focusByKey(field), []);
  useChange(() => {
    if (state.isHurried && found.isFresh) verbs.choose(found.matches[0]);
    change({ active: 0 });
  }, [shown(found.loaded)]);
  return { field, ...state, ...found, ...verbs };
}

function foundFor(store: Of<"found" | typeof commandsFor>, { text, isOpen }: FieldState): Found {
  const query = text.trim();
  const loaded = store.found.value;
  const results = shown(loaded);
  const isVerb = isCommand(query);
  const commands = isOpen ? commandsFor(store, query) : [];
  const groups: readonly ListedGroup[] = [
    ...(isVerb ? [] : (results?.groups ?? [])),
    ...(commands.length > 0 ? [{ title: "Commands", matches: commands, more: false }] : []),
  ];
  return {
    query,
    loaded,
    groups,
    matches: matchesOf(groups),
    isFresh: isVerb || results?.text === query,
    isListed: isOpen && query !== "" && (isVerb || loaded !== undefined),
  };
}

function fieldVerbs(
  store: Of<"search" | typeof goTo | typeof keyVerbs>,
  field: Field,
  at: FieldState & Found,
  change: (parts: Partial<FieldState>) => void,
): FieldVerbs {
  const type = (text: string) => {
    change({ text, isOpen: true, isHurried: false });
    store.search(isCommand(text.trim()) ? "" : text);
  };
  const close = () => {
    change({ isOpen: false, isHurried: false });
    store.search("");
  };
  const choose = (match: Listed | undefined) => {
    change({ isHurried: false });
    if (match === undefined) return;
    close();
    field.current?.blur();
    goTo(store, match);
  };
  return { type, close, choose, ...keyVerbs(store, field, at, change, { type, close, choose }) };
}

function keyVerbs(
  store: Of<"search">,
  field: Field,
  { text, query, isOpen, isListed, isFresh, matches, active }: FieldState & Found,
  change: (parts: Partial<FieldState>) => void,
  { type, close, choose }: Pick<FieldVerbs, "type" | "close" | "choose">,
): Pick<FieldVerbs, "enter" | "escape" | "step"> {
  return {
    enter() {
      if (isListed && isFresh) choose(matches[active]);
      else if (query !== "") {
        change({ isOpen: true, isHurried: true });
        store.search(text, "now");
      }
    },
    escape() {
      if (isOpen && query !== "") close();
      else field.current?.blur();
    },
    step(by) {
      if (!isListed) type(text);
      else if (matches.length > 0) change({ active: (active + by + matches.length) % matches.length });
      else return false;
      return true;
    },
  };
}

function goTo(store: Of<"jump">, { jump }: Listed): void {
  if (jump.kind === "command") return void jump.act();
  void store.jump(jump);
  // In a narrow window the section may be out of sight.
  document.querySelector(SECTIONS[jump.kind])?.scrollIntoView({ block: "nearest" });
}

/** The keys of the search: "/" outside of fields, Ctrl+K and ⌘K everywhere. */
function focusByKey(field: Field): () => void {
  const onKey = (event: KeyboardEvent) => {
    const isSlash =
      event.key === "/" && !isInField(event) && !event.ctrlKey && !event.metaKey && !event.altKey;
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
