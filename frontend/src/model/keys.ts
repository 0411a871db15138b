/** The keys that go along a list. */

export interface KeySteps {
  /** The arrow keys that go one row on or back. */
  readonly arrows: keyof typeof ARROWS;
  readonly from: number;
  /** The number of rows of a page. */
  readonly page: number;
  /** The row of the key End. */
  readonly last: number;
}

const ACROSS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };
const DOWN: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1 };
const ARROWS = { across: ACROSS, down: DOWN, both: { ...ACROSS, ...DOWN } } as const;

/** The row that a key leads to, which may be outside of the list; undefined for other keys. */
export function rowOfKey(key: string, { arrows, from, page, last }: KeySteps): number | undefined {
  const step = ARROWS[arrows][key];
  if (step !== undefined) return from + step;
  return { PageUp: from - page, PageDown: from + page, Home: 0, End: last }[key];
}
