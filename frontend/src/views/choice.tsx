/** One of several, chosen from a list that opens. */

export interface Option<T extends string | number> {
  readonly value: T;
  readonly title: string;
}

interface ChoiceProps<T extends string | number> {
  readonly options: readonly Option<T>[];
  /** Undefined while nothing is chosen. */
  readonly value: T | undefined;
  readonly choose: (value: T) => void;
  /** What is chosen, where no label stands around the list. */
  readonly label?: string;
  readonly testId?: string;
  readonly class?: string;
}

export function Choice<T extends string | number>(props: ChoiceProps<T>) {
  const { options, value, choose, label, testId } = props;
  return (
    <select
      class={`choice ${props.class ?? ""}`}
      aria-label={label}
      data-testid={testId}
      value={value}
      onChange={({ currentTarget }) => {
        const chosen = options[currentTarget.selectedIndex];
        if (chosen !== undefined) choose(chosen.value);
      }}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.title}
        </option>
      ))}
    </select>
  );
}

/** An option for each of some words, in their order. */
export function optionsOf<T extends string>(words: Readonly<Record<T, string>>): readonly Option<T>[] {
  return (Object.keys(words) as T[]).map((value) => ({ value, title: words[value] }));
}

/** Options whose words are their values. */
export function plainOptions<T extends string>(values: readonly T[]): readonly Option<T>[] {
  return values.map((value) => ({ value, title: value }));
}
