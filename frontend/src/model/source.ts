/** The text of a recorded source file: whole, or excerpts around recorded frames with gaps between them. */
import type { Excerpt } from "../api/answers";
import type { FileIndex } from "../base/ids";

/** A line of a file, such as that of a stack frame. */
export interface SourceLine {
  /** Empty until it is known. */
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** Undefined when nothing of the file is recorded. */
  readonly file: FileIndex | undefined;
  readonly text: string | undefined;
}

/** One line of the text. For a gap, `number` is undefined and `text` names the missing lines. */
export interface ShownLine {
  readonly number: number | undefined;
  readonly text: string;
}

/** `lines` is empty when only `excerpts` are recorded. */
export function shownLines(lines: readonly string[], excerpts: readonly Excerpt[]): readonly ShownLine[] {
  if (lines.length > 0) return lines.map((text, i) => ({ number: i + 1, text }));
  return excerpts.flatMap((excerpt, i) => {
    const before = excerpts[i - 1];
    const from = before === undefined ? 1 : before.first_line + before.lines.length;
    const here = excerpt.lines.map((text, n) => ({ number: excerpt.first_line + n, text }));
    return excerpt.first_line > from ? [gap(from, excerpt.first_line - 1), ...here] : here;
  });
}

function gap(from: number, to: number): ShownLine {
  const lines = from === to ? `line ${from}` : `lines ${from} to ${to}`;
  return { number: undefined, text: `# … ${lines} not recorded` };
}

/** The position of a line of the file in the text, from 1; undefined when the text does not have it. */
export function positionOfLine(shown: readonly ShownLine[], line: number): number | undefined {
  const index = shown.findIndex(({ number }) => number === line);
  return index < 0 ? undefined : index + 1;
}
