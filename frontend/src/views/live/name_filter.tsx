/** A filter for names or types by a regular expression: a choice and a field. */
import { expressionOf, type FilterBy, type NameFilter } from "../../model/live/tensor_rows";
import { Choice, optionsOf } from "../choice";

const WORDS: Readonly<Record<FilterBy, string>> = { name: "Name", type: "Type" };

interface FilterProps {
  /** What is filtered: "tensors", "ops". */
  readonly what: string;
  readonly filter: NameFilter;
  readonly set: (filter: NameFilter) => void;
}

export function NameFilterFields({ what, filter, set }: FilterProps) {
  const isWrong = expressionOf(filter) === "wrong";
  return (
    <span class="lp-filter">
      <Choice
        options={optionsOf(WORDS)}
        value={filter.by}
        choose={(by) => set({ ...filter, by })}
        label={`Filter ${what} by`}
      />
      <input
        class="filter framed"
        type="search"
        placeholder="Filter"
        aria-label={`Only ${what} whose ${filter.by} holds this (a regular expression)`}
        title={
          isWrong
            ? "This is no regular expression"
            : `Only ${what} whose ${filter.by} holds this (a regular expression)`
        }
        aria-invalid={isWrong}
        autocomplete="off"
        spellcheck={false}
        value={filter.text}
        data-testid={`filter-${what}`}
        onInput={(event) => set({ ...filter, text: event.currentTarget.value })}
      />
    </span>
  );
}
