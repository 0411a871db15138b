/** The search field, with its results in a list below it. */
import { useRef } from "preact/hooks";
import { counted } from "../base/text";
import { useChange } from "./hooks";
import type { With } from "./props";
import { type Listed, type ListedGroup, type SearchField, useSearchField } from "./search_field";

const ID = "search-found";
const KEYS = navigator.platform.startsWith("Mac") ? "/ or ⌘K" : "/ or Ctrl+K";

export function Search({ store }: With<typeof useSearchField>) {
  const search = useSearchField(store);
  return (
    <search
      class="search"
      onFocusOut={(event) => !event.currentTarget.contains(event.relatedTarget as Node) && search.close()}
    >
      <Field search={search} />
      {search.isListed && <Found search={search} />}
    </search>
  );
}

interface FieldProps {
  readonly search: SearchField;
}

function Field({ search }: FieldProps) {
  const { field, text, isListed, matches, active } = search;
  return (
    <input
      ref={field}
      class="search-field wide framed"
      role="combobox"
      aria-label="Find"
      aria-autocomplete="list"
      aria-expanded={isListed}
      aria-controls={isListed ? ID : undefined}
      aria-activedescendant={isListed && matches.length > 0 ? `${ID}-${active}` : undefined}
      aria-keyshortcuts="/ Control+K"
      title={`Find by name (${KEYS}), or run a command (>); the arrow keys and Enter choose`}
      placeholder="Find op, tensor, layer, variable, function, file:line"
      data-testid="search"
      maxLength={500}
      autocomplete="off"
      spellcheck={false}
      value={text}
      onFocus={(event) => event.currentTarget.select()}
      onInput={(event) => search.type(event.currentTarget.value)}
      onKeyDown={(event) => takeKey(event, search)}
    />
  );
}

function takeKey(event: KeyboardEvent, search: SearchField): void {
  if (event.isComposing) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") search.escape();
  else if (event.key === "Enter") search.enter();
  else if (step === undefined || !search.step(step)) return;
  event.preventDefault();
}

function Found({ search }: FieldProps) {
  const { isFresh, matches, groups, active, choose } = search;
  return (
    <div class={`search-found ${isFresh ? "" : "search-stale"}`}>
      <span class="unseen" role="status">
        {isFresh && `${counted(matches.length, "result")} listed`}
      </span>
      <div id={ID} role="listbox" aria-label="Found">
        <Groups groups={groups} active={active} choose={choose} />
      </div>
      {matches.length === 0 && <p class="hint">{emptyWords(search)}</p>}
    </div>
  );
}

function emptyWords({ loaded, isFresh, query }: SearchField): string {
  if (loaded?.kind === "failed") return loaded.message;
  return isFresh ? `Nothing holds “${query}”.` : "Looking …";
}

interface GroupsProps {
  readonly groups: readonly ListedGroup[];
  readonly active: number;
  readonly choose: (match: Listed) => void;
}

function Groups({ groups, active, choose }: GroupsProps) {
  let index = 0;
  return groups.map(({ title, matches, more }, kind) => (
    <div key={title} role="group" aria-labelledby={`${ID}-kind-${kind}`}>
      <div id={`${ID}-kind-${kind}`} class="found-kind bold dim" role="presentation">
        {title}
        {more && <span class="dim"> (the closest {matches.length})</span>}
      </div>
      {matches.map((match) => {
        const own = index++;
        return <FoundOption key={own} index={own} match={match} isActive={own === active} choose={choose} />;
      })}
    </div>
  ));
}

interface OptionProps {
  readonly index: number;
  readonly match: Listed;
  readonly isActive: boolean;
  readonly choose: (match: Listed) => void;
}

function FoundOption({ index, match, isActive, choose }: OptionProps) {
  const element = useRef<HTMLDivElement>(null);
  useChange(() => {
    if (isActive) element.current?.scrollIntoView({ block: "nearest" });
  }, [isActive]);
  return (
    <div
      ref={element}
      id={`${ID}-${index}`}
      class={`found line ends ${match.jump.kind === "line" ? "found-code" : ""}`}
      role="option"
      aria-selected={isActive}
      tabIndex={-1}
      title={`${match.title} · ${match.note}`}
      data-testid="search-found"
      // The field keeps the keyboard focus until the click ends.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => choose(match)}
    >
      <span class="found-title cut nowrap">{match.title}</span>
      <span class="found-note dim cut nowrap">{match.note}</span>
    </div>
  );
}
