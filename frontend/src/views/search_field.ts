/** The state of the search field, and what the reader does with it. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Loaded, shown } from "../base/loaded";
import { type Group, type Match, matchesOf } from "../model/find";
import type { Search } from "../store/search/search";
import { isInField, useChange } from "./hooks";
import type { Of } from "./props";

/** The section that shows each kind of result. */
const SECTIONS = {
  op: ".structure",
  function: ".timeline",
  layer: ".graph-executions",
  line: ".source",
} as const;

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
  readonly groups: readonly Group[];
  readonly matches: readonly Match[];
  /** Whether the results are for the text in the field, not for an earlier one. */
  readonly isFresh: boolean;
  readonly isListed: boolean;
}

interface FieldVerbs {
  type(text: string): void;
  close(): void;
  choose(match: Match | undefined): void;
  enter(): void;
  escape(): void;
  /** Goes along the matches, or lists them; returns whether it did. */
  step(by: number): boolean;
}

type Field = RefObject<HTMLInputElement | null>;

export interface SearchField extends FieldState, Found, FieldVerbs {
  readonly field: Field;
}

export function useSearchField(store: Of<"found" | typeof fieldVerbs>): SearchField {
  const field = useRef<HTMLInputElement>(null);
  const [state, setState] = useState(EMPTY);
  const change = (parts: Partial<FieldState>) => setState((old) => ({ ...old, ...parts }));
  const found = foundFor(state, store.found.value);
  const verbs = fieldVerbs(store, field, { ...state, ...found }, change);
  useEffect(() => focusByKey(field), []);
  useChange(() => {
    if (state.isHurried && found.isFresh) verbs.choose(found.matches[0]);
    change({ active: 0 });
  }, [shown(found.loaded)]);
  return { field, ...state, ...found, ...verbs };
}

function foundFor({ text, isOpen }: FieldState, loaded: Loaded<Search> | undefined): Found {
  const query = text.trim();
  const results = shown(loaded);
  const groups = results?.groups ?? [];
  return {
    query,
    loaded,
    groups,
    matches: matchesOf(groups),
    isFresh: results?.text === query,
    isListed: isOpen && query !== "" && loaded !== undefined,
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
    store.search(text);
  };
  const close = () => {
    change({ isOpen: false, isHurried: false });
    store.search("");
  };
  const choose = (match: Match | undefined) => {
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

function goTo(store: Of<"jump">, { jump }: Match): void {
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
