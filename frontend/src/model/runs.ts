/** The runs below the logdir: what the list says of each, its order, and which run the page opens. */
import type { Run, Runs, Verdict } from "../api/answers";
import { type RunName, runName } from "../base/ids";
import { markOf } from "./verdict";

/** Seconds after the last change of its files in which a run is called live. */
const FRESH = 60;
/** Seconds before the start of the newest judged run in which others are among the newest. */
const NEWEST = 3600;

/** The title of a run, or its name if it is not listed. */
export function titleOf(runs: Runs | undefined, name: RunName): string {
  return runs?.get(name)?.title ?? name;
}

/** What is known of a run in a few words. */
export interface Badge {
  readonly mark: string;
  readonly words: string;
  readonly look: "bad" | "warning" | "good" | "dim";
  /** The worst first. */
  readonly rank: number;
}

const UNJUDGED = 9;

const KINDS: Readonly<Record<string, Omit<Badge, "mark">>> = {
  bad: { words: "bad values", look: "bad", rank: 0 },
  rules: { words: "alerts", look: "warning", rank: 1 },
  unmeasured: { words: "not measured", look: "dim", rank: 2 },
  expected: { words: "all expected", look: "good", rank: 4 },
  nothing: { words: "all finite", look: "good", rank: 4 },
  empty: { words: "empty", look: "dim", rank: 6 },
};
const STATES: Readonly<Record<string, string>> = {
  judging: "being judged …",
  failed: "could not be judged",
};

export function badgeOf({ verdict, state }: Run): Badge {
  if (verdict === undefined)
    return { mark: "", words: STATES[state] ?? "not judged yet", look: "dim", rank: UNJUDGED };
  const kind = KINDS[verdict.kind] ?? { words: verdict.kind, look: "dim", rank: UNJUDGED };
  const mark = markOf(verdict);
  if (kind.look !== "good" || verdict.is_good) return { ...kind, mark };
  return { mark, words: `${kind.words}, with gaps`, look: "dim", rank: 3 };
}

/** The situation of a program that can be stopped, and the run that it records. */
export interface RunningProgram {
  readonly run: RunName | undefined;
  readonly situation: string;
}

/** A row of the list. */
export interface RunRow {
  readonly name: RunName;
  readonly title: string;
  readonly badge: Badge;
  readonly headline: string;
  readonly mode: string | undefined;
  readonly bytes: number | undefined;
  /** Seconds since its files were last written. */
  readonly age: number | undefined;
  readonly processes: number | undefined;
  /** What its program does; empty where that is not known. */
  readonly state: string;
  readonly start: number;
}

/** The rows in the order of the answer; `now` is in seconds since the epoch. */
export function runRows(
  runs: Runs | undefined,
  programs: readonly RunningProgram[],
  now: number,
): readonly RunRow[] {
  const situations = new Map(programs.map(({ run, situation }) => [run, situation]));
  return [...(runs ?? [])].map(([key, run]) => {
    const age = ageOf(run, now);
    return {
      name: runName(key),
      title: run.title,
      badge: badgeOf(run),
      headline: run.verdict?.headline ?? "",
      mode: run.mode,
      bytes: run.bytes,
      age,
      processes: run.processes,
      state: situations.get(runName(key)) ?? (isFresh(age) ? "live" : ""),
      start: run.start_time,
    };
  });
}

/** The clocks of the server and of the browser may differ a little. */
function ageOf({ written }: Run, now: number): number | undefined {
  return written === undefined ? undefined : Math.max(0, now - written);
}

function isFresh(age: number | undefined): boolean {
  return age !== undefined && age < FRESH;
}

/** "12 s ago", "3 min ago", "5 h ago", "12 days ago". */
export function ageWords(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400).toLocaleString("en-US")} days ago`;
}

export type RunColumn = "title" | "badge" | "mode" | "bytes" | "age" | "processes" | "state";

export interface RunOrder {
  readonly column: RunColumn;
  readonly isDescending: boolean;
}

/** The last written first. */
export const FIRST_ORDER: RunOrder = { column: "age", isDescending: false };

/** The order after a click on the title of a column. */
export function turned({ column, isDescending }: RunOrder, clicked: RunColumn): RunOrder {
  return clicked === column
    ? { column, isDescending: !isDescending }
    : { column: clicked, isDescending: ["bytes", "processes", "state"].includes(clicked) };
}

/** The rows in an order; those without a value come last, and equal ones by name. */
export function sortedRows(rows: readonly RunRow[], order: RunOrder): readonly RunRow[] {
  const { column, isDescending } = order;
  const sign = isDescending ? -1 : 1;
  const key = (row: RunRow) => (column === "badge" ? row.badge.rank : row[column]);
  return [...rows].sort((a, b) => {
    const [first, second] = [key(a), key(b)];
    const isEqual = first === second;
    if (!isEqual && isMissing(first)) return 1;
    if (!isEqual && isMissing(second)) return -1;
    return (isEqual ? 0 : sign * compared(first, second)) || compared(a.title, b.title);
  });
}

function isMissing(value: string | number | undefined): boolean {
  return value === undefined || value === "";
}

/** Numbers in names are numbers: "run9" comes before "run10". */
const NAMES = new Intl.Collator("en", { numeric: true });

function compared(a: string | number | undefined, b: string | number | undefined): number {
  return typeof a === "number" && typeof b === "number" ? a - b : NAMES.compare(String(a), String(b));
}

/** The rows that have each of some words in their name, verdict, mode or state. */
export function foundRows(rows: readonly RunRow[], text: string): readonly RunRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ title, badge, headline, mode, state }) => {
    const said = [title, badge.words, headline, mode, state].join("\n").toLowerCase();
    return words.every((word) => said.includes(word));
  });
}

/** The runs that are chosen for a comparison after a click on one: at most two, the last chosen ones. */
export function chosenAfter(chosen: readonly RunName[], run: RunName): readonly RunName[] {
  return chosen.includes(run) ? chosen.filter((one) => one !== run) : [...chosen, run].slice(-2);
}

/** The two runs that are compared, that in focus first; undefined while there are no two. */
export function pairOf(
  chosen: readonly RunName[],
  focus: RunName | undefined,
): readonly [RunName, RunName] | undefined {
  const all = focus === undefined || chosen.length === 2 ? chosen : [focus, ...chosen];
  const [first, second] = focus === all[1] ? [all[1], all[0]] : all;
  return first === undefined || second === undefined || first === second ? undefined : [first, second];
}

/**
 * The run that the page opens without a link: the latest one while it is being recorded; else the worst of the
 * newest judged ones, of equals the latest; else the latest one. `now` is in seconds since the epoch.
 */
export function runToOpen(runs: Runs, now: number): RunName | undefined {
  const latest = [...runs].sort(([, a], [, b]) => b.start_time - a.start_time);
  const judged = latest.filter(([, { verdict }]) => verdict !== undefined);
  const first = latest[0];
  const newest = judged[0];
  if (first === undefined) return undefined;
  const isRecorded = first[1].verdict === undefined && isFresh(ageOf(first[1], now));
  if (isRecorded || newest === undefined) return runName(first[0]);
  const since = newest[1].start_time - NEWEST;
  const among = judged.filter(([, { start_time }]) => start_time >= since);
  const worst = among.reduce((a, b) => (badgeOf(b[1]).rank < badgeOf(a[1]).rank ? b : a));
  return runName(worst[0]);
}

/** The title of the page: the run and its verdict. */
export function pageTitle(title: string | undefined, verdict: Verdict | undefined): string {
  if (title === undefined) return "Debugger";
  return [`${markOf(verdict)}${title}`, verdict?.headline, "Debugger"].filter(Boolean).join(" · ");
}
