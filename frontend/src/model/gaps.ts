/** What a recording does not hold though the program ran it, or may have: why "no NaN" may be untrue. */
import type { Status } from "../api/answers";
import type { GraphId } from "../base/ids";
import { counted, grouped } from "../base/text";

/** Something that is missing, by its name where it has one. */
export interface Missing {
  readonly name: string;
  /** Its graph, where that is on record. */
  readonly graph: GraphId | undefined;
}

/** All that is missing for one reason. */
export interface Gap {
  /** "not watched" */
  readonly title: string;
  /** A sentence of the recorder's: what is missing, why, and what helps. */
  readonly message: string;
  readonly missing: readonly Missing[];
  /** Empty where there is only one host. */
  readonly hosts: readonly string[];
  /** The recording itself is not whole: what is missing may be anything. */
  readonly severe: boolean;
}

interface Reason {
  readonly title: string;
  readonly severe?: boolean;
}

/** The words of `status` for why something is missing, in the order in which they are shown. */
const REASONS: ReadonlyMap<string, Reason> = new Map([
  ["stopped", { title: "stopped early", severe: true }],
  ["missing", { title: "incomplete", severe: true }],
  ["other_backend", { title: "other backend" }],
  ["not_instrumented", { title: "not watched" }],
  ["no_graph", { title: "no graph" }],
  ["compiled", { title: "compiled" }],
  ["made_before", { title: "made before" }],
  ["optimized", { title: "optimized away" }],
  ["filtered", { title: "filtered out" }],
]);
const OTHER: Reason = { title: "not recorded" };
const ORDER = [...REASONS.keys()];

/** What `status` says is missing: severe reasons first, entries that say the same made one. */
export function gapsOf({ not_recorded: entries, hosts }: Status): readonly Gap[] {
  const groups = new Map<string, Status["not_recorded"][number][]>();
  for (const entry of entries) {
    const key = JSON.stringify([entry.reason, entry.message]);
    groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  return [...groups.values()]
    .sort(([a], [b]) => place(a?.reason) - place(b?.reason))
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

function place(reason: string | undefined): number {
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

/** The same beside the state of the run, which says already that the recording is not whole. */
export function gapsCount(gaps: readonly Gap[]): string {
  const n = numberMissing(gaps);
  return n > 0 ? `${grouped(n)} not recorded` : "not all recorded";
}

/** How many things are known to be missing from a recording that may be whole but for them. */
function numberMissing(gaps: readonly Gap[]): number {
  return gaps
    .filter(({ severe }) => !severe)
    .reduce((sum, { missing }) => sum + Math.max(1, missing.length), 0);
}

/** Other reasons to doubt a clean list, each a sentence: what the ring dropped, what could not be read. */
export function doubtsOf(status: Status): readonly string[] {
  const { dropped_executions: executions = 0, dropped_graph_executions: traces = 0, notices } = status;
  const found: string[] = [];
  if (executions + traces > 0)
    found.push(
      `The circular buffer dropped ${counted(executions, "execution")} and ${counted(traces, "graph tensor")}. ` +
        "Of them the first bad ones of each op are kept, but not where TensorFlow's stock debug ops recorded. " +
        "Record with circular_buffer_size=-1 to keep all.",
    );
  if (notices.length > 0)
    found.push(
      `Parts of the files could not be read: ${counted(notices.length, "notice")} in the status line.`,
    );
  if (status.recorder?.startsWith("TensorFlow"))
    found.push(
      "TensorFlow's own recorder leaves out arguments of functions and outermost backward graphs, and does not " +
        "say what its circular buffer dropped.",
    );
  return found;
}
