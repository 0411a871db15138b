/** A comparison of two runs, in the words and rows that the page shows. */
import type { WireHealth } from "../api/answers";
import type { Comparison, InputOfFirst, ProgramChange, Side, TensorDifference } from "../api/comparison";
import type { CountName } from "../api/generated/modes";
import { counted, significant } from "../base/text";
import { fromWire, KINDS } from "./health";
import { displayName, tensorName } from "./names";
import { linkTarget, type Target } from "./neighbourhood";
import { placeKey } from "./origin";

/**
 * What came out: a tensor differs; only the program does; only rounding grew; nothing differs; or the runs have
 * nothing in common.
 */
export type Outcome = "differs" | "changed" | "grown" | "agrees" | "nothing";

export function outcomeOf(answer: Comparison): Outcome {
  if (answer.first_difference !== undefined) return "differs";
  if (answer.num_compared_tensors === 0) return "nothing";
  if (answer.num_changes > 0) return "changed";
  return answer.num_tensors > 0 ? "grown" : "agrees";
}

const CAUSES: ReadonlyMap<string, string> = new Map([
  ["changed_op", "another op"],
  ["changed_constant", "another constant"],
  ["added_op", "an op that one run has"],
  ["random", "another seed or random state"],
  ["variable", "a variable holds other values"],
  ["data", "other data came in"],
  ["numerics", "made by this op"],
  ["amplified", "grown out of rounding"],
]);

/** A cause of a later server is shown by its name. */
export function causeWords(cause: string): string {
  return CAUSES.get(cause) ?? cause;
}

/** "loss/Log:0"; the op type of what ran eagerly. */
export function sideName({ op_name, op_type, output_slot }: Side): string {
  if (op_name !== undefined) return tensorName(op_name, output_slot);
  return output_slot === 0 ? displayName(op_type) : tensorName(displayName(op_type), output_slot);
}

export function sideTarget(side: Side | undefined): Target {
  return side === undefined ? { kind: "nowhere" } : linkTarget(side);
}

/** A line of a table with both runs. */
export interface SideRow {
  readonly label: string;
  readonly first: string;
  readonly second: string;
  readonly isApart: boolean;
}

const NO_VALUE = "–";

function row(label: string, first = NO_VALUE, second = NO_VALUE): readonly SideRow[] {
  return first === NO_VALUE && second === NO_VALUE
    ? []
    : [{ label, first, second, isApart: first !== second }];
}

/** What the tensor is in both runs. */
export function placeRows(first: Side, second: Side): readonly SideRow[] {
  return [
    ...row("op", displayName(first.op_type), displayName(second.op_type)),
    ...row("name", first.op_name && sideName(first), second.op_name && sideName(second)),
    ...row("layer", first.layer, second.layer),
    ...row("variable", first.variable, second.variable),
    ...row("function", functionName(first), functionName(second)),
    ...row("position", positionWords(first), positionWords(second)),
  ];
}

/** "layer dense · in step · graph execution #3" */
export function placeWords(side: Side): string {
  const { layer, variable } = side;
  const name = functionName(side);
  return [
    layer === undefined ? undefined : `layer ${layer}`,
    variable === undefined ? undefined : `variable ${variable}`,
    name === undefined ? "called from Python" : `in ${name}`,
    positionWords(side),
  ]
    .filter(Boolean)
    .join(" · ");
}

function functionName({ function: name }: Side): string | undefined {
  return name === undefined ? undefined : displayName(name);
}

function positionWords({
  graph_execution_index: graphExecution,
  execution_index: index,
}: Side): string | undefined {
  if (graphExecution !== undefined) return `graph execution #${graphExecution}`;
  return index === undefined ? undefined : `execution #${index}`;
}

const COUNT_LABELS: Readonly<Record<CountName, string>> = {
  neg_inf: "−∞",
  negative: "negative",
  zero: "zero",
  positive: "positive",
  pos_inf: "+∞",
  nan: "NaN",
};

/** The recorded numbers of both runs: those that one of them has, and bad kinds only where there are any. */
export function numberRows(
  first: WireHealth | undefined,
  second: WireHealth | undefined,
): readonly SideRow[] {
  const [a, b] = [fromWire(first), fromWire(second)];
  const numbers = (label: string, x: number | undefined, y: number | undefined) =>
    row(label, ...numberPair(x, y));
  return [
    ...row("dtype", a?.dtype, b?.dtype),
    ...row("shape", a?.shape, b?.shape),
    ...numbers("values", a?.size, b?.size),
    ...(["min", "max", "mean", "variance"] as const).flatMap((name) =>
      numbers(name, a?.numerics?.[name], b?.numerics?.[name]),
    ),
    ...KINDS.flatMap(({ name, bad }) => {
      const [x, y] = [a?.counts[name], b?.counts[name]];
      return bad && (x ?? 0) === 0 && (y ?? 0) === 0 ? [] : numbers(COUNT_LABELS[name], x, y);
    }),
  ];
}

const FEWEST = 4;
const MOST = 17;

/** Two numbers with as many digits as tell them apart, and at least four. */
export function numberPair(
  first: number | undefined,
  second: number | undefined,
): readonly [string | undefined, string | undefined] {
  for (let digits = FEWEST; digits < MOST; digits++) {
    const [a, b] = [numberText(first, digits), numberText(second, digits)];
    if (a !== b || first === second) return [a, b];
  }
  return [numberText(first, MOST), numberText(second, MOST)];
}

function numberText(n: number | undefined, digits: number): string | undefined {
  if (n === undefined) return undefined;
  if (Number.isInteger(n) && Math.abs(n) < 1e15) return n.toLocaleString("en-US").replace(/^-/, "−");
  const size = Math.abs(n);
  const isPlain = size >= 1e-4 && size < 1e6;
  const text = isPlain
    ? String(Number(n.toPrecision(digits)))
    : Number(n.toPrecision(digits)).toExponential();
  return text.replace(/^-/, "−");
}

/** "0.12 of its size, 120,000 times the tolerance"; shape, NaN or infinities have no such number. */
export function differenceWords({ difference, tolerance }: TensorDifference): string {
  if (difference === undefined) return "shape, NaN or infinities differ";
  const times = difference / tolerance;
  const size = `${significant(difference)} of its size`;
  return Number.isFinite(times) && times >= 1
    ? `${size}, ${counted(Math.round(times), "time")} the tolerance`
    : size;
}

/** How large the tolerance is, and where it comes from. */
export function toleranceWords({ tolerance, first, second }: TensorDifference, isChosen: boolean): string {
  if (isChosen) return `${significant(tolerance)}, as you chose`;
  const [a, b] = [first.summary?.dtype, second.summary?.dtype];
  const dtype = a === b ? (a ?? "the dtype") : `the coarser of ${a ?? "?"} and ${b ?? "?"}`;
  return tolerance === 0
    ? `0: ${dtype} has no rounding`
    : `${significant(tolerance)}: rounding of ${dtype}, times the ops on the path to it`;
}

/** "97 %"; never 0 % or 100 % of what is not exactly that. */
export function shareWords(share: number): string {
  if (share > 0 && share < 0.01) return "< 1 %";
  if (share < 1 && share > 0.99) return "> 99 %";
  return `${Math.round(share * 100)} %`;
}

export function inheritedWords(inherited: number | undefined): string {
  if (inherited === undefined) return "unknown: no input of it is on record in both runs";
  if (inherited === 0) return "0 %: its inputs explain nothing of it";
  return `${shareWords(inherited)} of it is explained by its inputs`;
}

/** Whether an input agrees, and by how much it differs. */
export function inputWords({ difference, is_within }: InputOfFirst): string {
  if (is_within === undefined) return "not on record in both runs";
  if (difference === undefined) return "shape, NaN or infinities differ";
  if (difference === 0) return "equal";
  return `${is_within ? "agrees" : "differs"} (${significant(difference)})`;
}

/** Where a change of the program is: in the first run, or else in the second one. */
export function changeSide({ first, second }: ProgramChange): Side | undefined {
  return first ?? second;
}

/** The first difference that is about what is in focus: about the same value, or else about the same op. */
export function differenceInFocus(
  tensors: readonly TensorDifference[],
  focus: Target,
): TensorDifference | undefined {
  const key = placeKey(focus);
  if (key === undefined) return undefined;
  return tensors.find(({ first }) => placeKey(sideTarget(first)) === key);
}

/** A tolerance that the reader typed: nothing for an empty text, "wrong" if it is no number of at least 0. */
export function toleranceTyped(text: string): number | "wrong" | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text);
  return value >= 0 && Number.isFinite(value) ? value : "wrong";
}
