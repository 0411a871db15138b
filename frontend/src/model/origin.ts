/** Origins of bad values: which one the page shows, and the chain from a bad value back to its birth. */
import type { Link, Origin, UserLine } from "../api/answers";
import { basename, counted } from "../base/text";
import { displayName, tensorName } from "./names";
import { linkTarget, type Target } from "./neighbourhood";

const CATEGORIES: ReadonlyMap<string, string> = new Map([
  ["origin", "Origin of"],
  ["came_in", "Came in:"],
  ["propagated", "Bad before the record begins:"],
  ["swallowed", "Swallowed:"],
  ["expected", "Expected:"],
]);

/** How a link gave its value to the one before it in the chain. */
const RELATIONS: ReadonlyMap<string, string> = new Map([
  ["input", "from its input"],
  ["argument", "from the caller's argument"],
  ["result", "from inside the call"],
  ["iteration", "from the turn before"],
  ["assignment", "by an assignment"],
  ["gradient", "from the forward pass"],
  ["step", "from an earlier step"],
  ["data", "from the data"],
]);

/** The origins as the card shows them. */
export interface Origins {
  /** The one that is explained; undefined when all bad values are expected, or when there are none. */
  readonly shown: Origin | undefined;
  /** The others that matter. */
  readonly others: readonly Origin[];
  /** Those that harm nothing. */
  readonly expected: readonly Origin[];
}

/** `chosen` is the key of the origin that the reader chose; the most important one is shown without it. */
export function originsOf(all: readonly Origin[], chosen: string | undefined): Origins {
  const serious = all.filter(({ category }) => category !== "expected");
  const shown = all.find((origin) => originKey(origin) === chosen) ?? serious[0];
  return {
    shown,
    others: serious.filter((origin) => origin !== shown),
    expected: all.filter((origin) => origin.category === "expected" && origin !== shown),
  };
}

/** The same origin has the same key in a later answer. */
export function originKey(origin: Origin): string {
  return JSON.stringify([origin.kind, ...causeOf(origin)]);
}

/** What an origin is of: an op that makes both NaN and infinities is one cause of two origins. */
function causeOf({ op_type, op_name, output_slot, graph_id, source }: Origin): readonly unknown[] {
  return [op_type, op_name, output_slot, graph_id, source?.path, source?.line];
}

/** How many causes there are of bad values that matter. */
export function numCauses({ shown, others }: Origins): number {
  const wrong = shown === undefined || shown.category === "expected" ? others : [shown, ...others];
  return new Set(wrong.map((origin) => JSON.stringify(causeOf(origin)))).size;
}

/** "NaN", "∞"; both when the recording does not tell them apart. */
export function kindWords({ kind, kind_is_certain }: Pick<Origin, "kind" | "kind_is_certain">): string {
  if (!kind_is_certain) return "NaN or ∞";
  return kind === "nan" ? "NaN" : "∞";
}

/** "Origin of NaN:", "Came in: ∞." */
export function originLabel(origin: Origin): string {
  const words = CATEGORIES.get(origin.category) ?? "Origin of";
  return words.endsWith(":") ? `${words} ${kindWords(origin)}.` : `${words} ${kindWords(origin)}:`;
}

/** "1 bad value is expected", "3 bad values are expected" */
export function expectedWords(n: number): string {
  return `${counted(n, "bad value")} ${n === 1 ? "is" : "are"} expected`;
}

/** What the reader should know about an answer that is not proven. */
export function certaintyWords({ certainty }: Pick<Origin, "certainty">): string | undefined {
  if (certainty === "likely") return "This is likely, but not proven.";
  return certainty === "possible" ? "This is possible, but not proven." : undefined;
}

/** "first in step 3", and how often the op made such a value. */
export function momentWords({ step, count }: Pick<Origin, "step" | "count">): string | undefined {
  const moment = step === undefined ? [] : [`first in step ${step}`];
  const often = count > 1 ? [`${count} times in all`] : [];
  return [...moment, ...often].join(", ") || undefined;
}

export function placeTarget(place: Origin | Link): Target {
  const { graph_id, op_name, graph_execution_index, execution_index } = place;
  return linkTarget({ graph_id, op_name, graph_execution_index, execution_index });
}

/** "train.py:68" */
export function lineName({ path, line }: UserLine): string {
  return `${basename(path)}:${line}`;
}

/** One link of the chain as a line of a list. */
export interface ChainStep {
  readonly position: number;
  readonly title: string;
  readonly opType: string;
  /** How its value came to the step before; of the first one, what it is. */
  readonly relation: string;
  readonly place: string;
  /** The number of ops between it and the step before that only pass the value on. */
  readonly skipped: number;
  readonly target: Target;
  /** Whether the value was born here. */
  readonly isBirth: boolean;
}

/** The steps from the value that was seen first back to the birth. */
export function chainSteps(chain: readonly Link[]): readonly ChainStep[] {
  return chain.map((link, position) => ({
    position,
    title:
      link.op_name === undefined ? displayName(link.op_type) : tensorName(link.op_name, link.output_slot),
    opType: displayName(link.op_type),
    relation: position === 0 ? "seen here" : (RELATIONS.get(link.relation) ?? link.relation),
    place: placeWords(link),
    skipped: link.skipped ?? 0,
    target: placeTarget(link),
    isBirth: position === chain.length - 1,
  }));
}

function placeWords({ source, step }: Link): string {
  const line = source === undefined ? [] : [lineName(source)];
  return [...line, ...(step === undefined ? [] : [`step ${step}`])].join(", ");
}

/** The number of steps at each end of a long chain that are shown at first. */
const ENDS = 5;

/** The steps that are listed: all, or both ends with the number of those between them. */
export function listedSteps(
  steps: readonly ChainStep[],
  isWhole: boolean,
): { readonly begin: readonly ChainStep[]; readonly hidden: number; readonly end: readonly ChainStep[] } {
  const hidden = steps.length - 2 * ENDS;
  if (isWhole || hidden <= 1) return { begin: steps, hidden: 0, end: [] };
  return { begin: steps.slice(0, ENDS), hidden, end: steps.slice(-ENDS) };
}

/** The op or execution that a target leads to, whichever of its values. */
export function placeKey(target: Target): string | undefined {
  if (target.kind === "op") return `op ${target.graph} ${target.opName}`;
  return target.kind === "execution" ? `execution ${target.index}` : undefined;
}

/** The ops and executions of the chain. */
export function chainKeys(steps: readonly ChainStep[]): ReadonlySet<string> {
  return new Set(steps.flatMap(({ target }) => placeKey(target) ?? []));
}

/** The step that is in focus: that of the same value, or else the last one of the same op. */
export function stepInFocus(steps: readonly ChainStep[], focus: Target): ChainStep | undefined {
  const key = placeKey(focus);
  if (key === undefined) return undefined;
  const same = steps.filter(({ target }) => placeKey(target) === key);
  const exact = same.find(
    ({ target }) => focus.kind !== "op" || graphExecutionOf(target) === focus.graphExecution,
  );
  return exact ?? same.at(-1);
}

function graphExecutionOf(target: Target): number | undefined {
  return target.kind === "op" ? target.graphExecution : undefined;
}
