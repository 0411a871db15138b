/** The ways to change a value at a pause, as expressions over `value` for the program. */

import { isNumber } from "./conditions";

export interface Change {
  readonly name: string;
  readonly title: string;
  /** What the field stands for; undefined without one. */
  readonly field: string | undefined;
  readonly initial: string;
  readonly expression: (text: string) => string;
}

export const CHANGES = [
  {
    name: "nan",
    title: "Replace NaN by",
    field: "number",
    initial: "0",
    expression: (text) => `np.where(np.isnan(value), ${text}, value)`,
  },
  {
    name: "bad",
    title: "Replace NaN and ±∞ by",
    field: "number",
    initial: "0",
    expression: (text) => `np.where(np.isfinite(value), value, ${text})`,
  },
  {
    name: "scale",
    title: "Multiply by",
    field: "factor",
    initial: "0.1",
    expression: (text) => `value * ${text}`,
  },
  { name: "set", title: "Set all elements to", field: "number", initial: "0", expression: (text) => text },
  {
    name: "free",
    title: "Set to the expression",
    field: "expression over value",
    initial: "np.clip(value, -1, 1)",
    expression: (text) => text,
  },
] as const satisfies readonly Change[];
export type ChangeName = (typeof CHANGES)[number]["name"];

/** The expression of a change; undefined when its field holds no number where it must. */
export function expressionOfChange(name: ChangeName, text: string): string | undefined {
  const change = CHANGES.find((one) => one.name === name) as Change;
  const plain = text.trim().replaceAll("−", "-");
  if (plain === "" || (name !== "free" && !isNumber(plain))) return undefined;
  // A negative factor or number needs no brackets at the places where it stands.
  return change.expression(plain);
}
