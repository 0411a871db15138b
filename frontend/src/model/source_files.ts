/** Recorded source files: their names, what their lines made, and what is found in them. */
import type { LineOp, LineOps, Made, SourceFileOps } from "../api/answers";
import { basename, compact, counted, escaped, grouped } from "../base/text";
import type { ShownLine } from "./source";

/** Compiled cells, where nothing has recorded their numbers. */
const UNNUMBERED_CELL = /(?:^|[/\\])ipykernel_\d+[/\\]\d+\.py$/;
const NUMBERED_CELL = /^<ipython-input-(\d+)-[0-9a-f]+>$/;

/**
 * Names for people of the paths of notebook cells: "Cell In[4]" where the path has the number of the cell, else
 * "cell 3" for the third cell on record.
 */
export function cellNames(paths: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const path of new Set(paths)) {
    const number = NUMBERED_CELL.exec(path)?.[1];
    if (number !== undefined) names.set(path, `Cell In[${number}]`);
    else if (UNNUMBERED_CELL.test(path)) names.set(path, `cell ${names.size + 1}`);
  }
  return names;
}

/** The shortest end of a path that no other path has; parts are not cut. */
export function shortestEnd(path: string, paths: readonly string[]): string {
  const others = [...new Set(paths)].filter((other) => other !== path);
  const parts = path.split(/(?<=[/\\])/);
  for (let from = parts.length - 1; from > 0; from--) {
    const end = parts.slice(from).join("");
    if (!others.some((other) => hasEnd(other, end))) return end;
  }
  return path;
}

function hasEnd(path: string, end: string): boolean {
  return path === end || path.endsWith(`/${end}`) || path.endsWith(`\\${end}`);
}

/** The line of a file that a filter such as `model.py:41` is about; undefined for another file or all lines. */
export function lineOfFilter(value: string | undefined, path: string): number | undefined {
  const [, end = "", line] = /^(.+?):(\d{1,9})$/.exec(value ?? "") ?? [];
  return line !== undefined && hasEnd(path, end) ? Number(line) : undefined;
}

/** How the worst of some values is shown: a shape, so that it is not told by colour alone. */
export const SIGNS = { bad: "▲", good: "●", unmeasured: "○", none: "·" } as const;
export type Sign = keyof typeof SIGNS;
const SIGN_WORDS: Readonly<Record<Sign, string>> = {
  bad: "NaN or ∞",
  good: "no NaN or ∞",
  unmeasured: "not measured",
  none: "no values on record",
};

export function signOf(health: string | undefined): Sign {
  return health !== undefined && health in SIGNS ? (health as Sign) : "none";
}

/** A mark beside a source line. */
export interface MadeMark {
  readonly sign: Sign;
  /** How many ops it made; if it made none, how many it ran. */
  readonly count: string;
  /** "line 41: 3 ops with 40 tensors, 2 of them with NaN or ∞" */
  readonly words: string;
}

export function madeMarks(lines: readonly LineOps[]): ReadonlyMap<number, MadeMark> {
  return new Map(
    lines.map((made) => [
      made.line,
      {
        sign: signOf(made.health),
        count: compact(made.num_ops || made.executions),
        words: `line ${made.line}: ${madeWords(made)}`,
      },
    ]),
  );
}

/** "3 ops with 40 tensors, 2 of them with NaN or ∞ · 40 calls from Python" */
export function madeWords(made: Made): string {
  const { num_ops, executions, num_tensors, num_bad, bad_executions, health } = made;
  const tensors = num_tensors > 0 ? ` with ${counted(num_tensors, "tensor")}${badPart(num_bad)}` : "";
  return [
    num_ops > 0 || executions === 0 ? `${counted(num_ops, "op")}${tensors}` : "",
    executions > 0 ? `${counted(executions, "call")} from Python${badPart(bad_executions)}` : "",
    health === "bad" ? "" : SIGN_WORDS[signOf(health)],
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

function badPart(bad: number): string {
  return bad > 0 ? `, ${grouped(bad)} of them with ${SIGN_WORDS.bad}` : "";
}

/** "2 of 40 NaN/∞", "40 not measured" */
export function tensorWords({ num_tensors, num_bad, health }: LineOp): string {
  if (num_tensors === 0) return SIGN_WORDS.none;
  const tensors = grouped(num_tensors);
  return signOf(health) === "unmeasured"
    ? `${tensors} ${SIGN_WORDS.unmeasured}`
    : `${grouped(num_bad)} of ${tensors} NaN/∞`;
}

/** The files whose path, or name of their cell, has a text in upper or lower case. */
export function filesWith(
  files: readonly SourceFileOps[],
  text: string,
  cells: ReadonlyMap<string, string>,
): readonly SourceFileOps[] {
  const sought = text.trim().toLowerCase();
  return files.filter(({ file_path }) =>
    [file_path, cells.get(file_path) ?? ""].some((name) => name.toLowerCase().includes(sought)),
  );
}

/** The name of a file for people: that of its cell, or the last part of its path. */
export function fileName(path: string, cells: ReadonlyMap<string, string>): string {
  return cells.get(path) ?? basename(path);
}

/** A place where a text occurs in the text that is shown. */
export interface Occurrence {
  /** The position of the line in the text, from 1. */
  readonly row: number;
  readonly from: number;
  readonly to: number;
}

/** The most occurrences that are found in one file. */
const MOST = 5000;

/** Where a text occurs, in upper or lower case; in the lines of a gap nothing does. */
export function occurrences(lines: readonly ShownLine[], text: string): readonly Occurrence[] {
  if (text === "") return [];
  const pattern = new RegExp(escaped(text), "giu");
  const found: Occurrence[] = [];
  for (const [i, line] of lines.entries()) {
    if (line.number === undefined) continue;
    for (const { index, 0: match } of line.text.matchAll(pattern)) {
      if (found.length === MOST) return found;
      found.push({ row: i + 1, from: index, to: index + match.length });
    }
  }
  return found;
}

/** The first occurrence in or after a row; the first of all when there is none. */
export function firstFrom(found: readonly Occurrence[], row: number): number {
  return Math.max(
    0,
    found.findIndex((one) => one.row >= row),
  );
}

/** The address that opens a line in an editor on the reader's machine; undefined for a cell of a notebook. */
export function editorLink(path: string, line: number): string | undefined {
  const plain = path.replaceAll("\\", "/");
  if (UNNUMBERED_CELL.test(path) || !/^(?:\/|[A-Za-z]:\/)/.test(plain)) return undefined;
  const absolute = plain.startsWith("/") ? plain : `/${plain}`;
  return `vscode://file${absolute.split("/").map(encodeURIComponent).join("/").replaceAll("%3A", ":")}:${line}`;
}
