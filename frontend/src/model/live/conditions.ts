/**
 * Conditions of breakpoints: texts such as `max - min > 10`, which the program understands. The presets are the
 * conditions of TensorBoard's first debugger.
 */

export interface Preset {
  readonly title: string;
  /** The text before the reference value, or the whole text of a preset without one. */
  readonly text: string;
  readonly hasValue: boolean;
}

const contains = (what: string, name: string): Preset => ({
  title: `contains ${what}`,
  text: `${name} > 0`,
  hasValue: false,
});
/** A number above and below a value. */
const compared = (title: string, text = title): readonly Preset[] =>
  [">", "<"].map((sign) => ({ title: `${title} ${sign}`, text: `${text} ${sign}`, hasValue: true }));

export const PRESETS: readonly Preset[] = [
  contains("±∞ or NaN", "bad"),
  contains("±∞", "inf"),
  contains("NaN", "nan"),
  ...compared("max"),
  ...compared("min"),
  ...compared("max − min", "max - min"),
  ...compared("mean"),
  ...compared("standard deviation", "std"),
];

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Whether a text is a number that a condition may compare with. */
export function isNumber(text: string): boolean {
  return NUMBER.test(text.trim());
}

/** The condition of a preset; the value counts only for presets that have one. */
export function conditionOf({ text, hasValue }: Preset, value: string): string {
  return hasValue ? `${text} ${value.trim()}` : text;
}

/** The preset that a condition was made of, with its value; undefined for a free text. */
export function presetOf(condition: string): { readonly preset: Preset; readonly value: string } | undefined {
  const text = condition.trim().replace(/\s+/g, " ");
  for (const preset of PRESETS) {
    if (!preset.hasValue && text === preset.text) return { preset, value: "" };
    const value = text.slice(preset.text.length).trim();
    if (preset.hasValue && text.startsWith(preset.text) && isNumber(value)) return { preset, value };
  }
  return undefined;
}

/** Whether a condition is of those that values carry on: the presets for NaN and infinities. */
export function isCarried(condition: string): boolean {
  return presetOf(condition)?.preset.hasValue === false;
}

/** "contains NaN", "max − min > 10", or the text itself. */
export function conditionWords(condition: string): string {
  const found = presetOf(condition);
  return found === undefined ? condition.trim() : `${found.preset.title} ${found.value}`.trim();
}

/** "if it contains NaN", "if max − min > 10". */
export function ifWords(condition: string): string {
  return `if ${isCarried(condition) ? "it " : ""}${conditionWords(condition)}`;
}
