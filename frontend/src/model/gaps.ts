/** What the program ran, or may have run, and the recording does not hold: reasons to doubt "no NaN". */
import type { Status } from "../api/answers";
import type { GraphId } from "../base/ids";
import { grouped } from "../base/text";

/** A thing that is not recorded. */
export interface Missing {
  readonly name: string;
  /** Its graph; undefined when that is not recorded. */
  readonly graph: GraphId | undefined;
}

/** All things that are not recorded for one reason. */
export interface Gap {
  /** "not watched" */
  readonly title: string;
  /** A sentence of the recorder: what is missing, why, and what helps. */
  readonly message: string;
  readonly missing: readonly Missing[];
  /** Empty for a run of one host. */
  readonly hosts: readonly string[];
  /** Whether the recording itself is incomplete, so that anything may be missing. */
  readonly severe: boolean;
}

interface Reason {
  readonly title: string;
  readonly severe?: boolean;
}

/** The reasons in `status`, in the order in which they are shown. */
const REASONS: ReadonlyMap<string, Reason> = new Map([
  ["stopped", { title: "stopped early", severe: true }],
  ["missing", { title: "incomplete", severe: true }],
  ["other_backend", { title: "other backend" }],
  ["bounded", { title: "size limit" }],
  ["not_instrumented", { title: "not watched" }],
  ["no_graph", { title: "no graph" }],
  ["compiled", { title: "compiled" }],
  ["made_before", { title: "made before" }],
  ["optimized", { title: "optimized away" }],
  ["filtered", { title: "filtered out" }],
]);
const OTHER: Reason = { title: "not recorded" };
const ORDER = [...REASONS.keys()];

/** The gaps in `status`: severe reasons first, and one gap for entries with the same reason and message. */
export function gapsOf({ not_recorded: entries, hosts }: Status): readonly Gap[] {
  const groups = new Map<string, Status["not_recorded"][number][]>();
  for (const entry of entries) {
    const key = JSON.stringify([entry.reason, entry.message]);
    groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  return [...groups.values()]
    .sort(([a], [b]) => orderOf(a?.reason) - orderOf(b?.reason))
    .map((same) => {
      const { title, severe = false } = REASONS.get(same[0]?.reason ?? "") ?? OTHER;
      const several = hosts.length > 1 ? same.flatMap(({ host }) => host ?? []) : [];
      return {
        title,
        message: same[0]?.message ?? "",
        missing: same.flatMap(missingOf),
        hosts: [...new Set(several)],
        severe,
      };
    });
}

function orderOf(reason: string | undefined): number {
  const at = ORDER.indexOf(reason ?? "");
  return at < 0 ? ORDER.length : at;
}

function missingOf(entry: Status["not_recorded"][number]): readonly Missing[] {
  const graph = entry.graph_id;
  if (entry.names.length > 0) return entry.names.map((name) => ({ name, graph }));
  return graph === undefined ? [] : [{ name: `graph ${graph.slice(0, 8)}`, graph }];
}

/** In a few words: "stopped early, 12 not recorded"; undefined when nothing is missing. */
export function gapsWords(gaps: readonly Gap[]): string | undefined {
  const titles = new Set(gaps.filter(({ severe }) => severe).map(({ title }) => title));
  const n = numberMissing(gaps);
  const words = [...titles, ...(n > 0 ? [`${grouped(n)} not recorded`] : [])];
  return words.length === 0 ? undefined : words.join(", ");
}

/** The same next to the state of the run, which already names severe reasons. */
export function gapsCount(gaps: readonly Gap[]): string {
  const n = numberMissing(gaps);
  return n > 0 ? `${grouped(n)} not recorded` : "not all recorded";
}

/** The number of things that are missing for reasons that are not severe. */
function numberMissing(gaps: readonly Gap[]): number {
  return gaps
    .filter(({ severe }) => !severe)
    .reduce((sum, { missing }) => sum + Math.max(1, missing.length), 0);
}
