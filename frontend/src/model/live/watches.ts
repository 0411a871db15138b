/** Watch expressions, as the browser keeps them: by the script and the folder of its run. */
import type { LiveProgram } from "../../api/live";
import { programName } from "./program";

/** The most expressions, and the letters of one. */
const [MOST, LONGEST] = [50, 2000];

export const keptAs = ({ program, run }: LiveProgram) => `watches.${programName(program)}.${run ?? ""}`;

/** The list with one more expression, which is last; an empty one adds nothing. */
export function withExpression(all: readonly string[], expression: string): readonly string[] {
  const added = expression.trim().slice(0, LONGEST);
  return added === "" ? all : [...all.filter((one) => one !== added), added].slice(-MOST);
}

/** What the browser kept; nothing of what is no list of texts. */
export function expressionsOf(text: string | undefined): readonly string[] {
  try {
    const kept: unknown = JSON.parse(text ?? "[]");
    const texts = Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
    return texts.slice(-MOST);
  } catch {
    return [];
  }
}
