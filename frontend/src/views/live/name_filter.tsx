/** A filter for names or types by a regular expression: a choice and a field. */
import { expressionOf, FILTER_BY, type NameFilter } from "../../model/live/tensor_rows";

const WORDS = { name: "Name", type: "Type" } as const;

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
      <select
        class="files"
        aria-label={`Filter ${what} by`}
        value={filter.by}
        onChange={(event) => set({ ...filter, by: event.currentTarget.value as NameFilter["by"] })}
      >
        {FILTER_BY.map((by) => (
          <option key={by} value={by}>
            {WORDS[by]}
          </option>
        ))}
      </select>
      <input
        class="filter"
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
