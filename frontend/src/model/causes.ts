/**
 * The known ways in which an op makes NaN or infinity out of finite numbers: a table, one row for each way. A row names
 * the ops, gives the reason in words and what usually helps, and tells from the numbers whether it applies.
 */
import { counted } from "../base/text";
import type { KindName, Summary } from "./health";

export interface CauseInput {
  readonly name: string;
  readonly summary: Summary | undefined;
}

/** The input that is to blame, when one is, and what it held: "200 zeros". */
interface Blame {
  readonly input?: CauseInput | undefined;
  readonly held?: string | undefined;
}

export interface Cause extends Blame {
  /** A clause: "the logarithm of 0 is −∞". */
  readonly because: string;
  readonly help?: string | undefined;
}

interface Rule {
  readonly ops: readonly string[];
  readonly because: string;
  readonly help?: string;
  /** Undefined when the numbers say that it was not this. */
  readonly applies: (inputs: readonly CauseInput[], output: Summary) => Blame | undefined;
}

const CLIP_LOG = "Clip the argument of the log from below, or use a loss that takes the logits.";
const EPSILON = "Add a small epsilon under the division or the root, or use tf.math.divide_no_nan.";
const RANGE =
  "Look at the scale of the inputs: learning rate, initialisation, normalisation, or a wider dtype.";

const NOUNS: Readonly<Partial<Record<KindName, string>>> = { zero: "zero", negative: "negative value" };

/** Blames the input in the slot when it holds any of the kind. */
function holds(slot: number, kind: KindName): Rule["applies"] {
  return (inputs) => {
    const input = inputs[slot];
    const n = input?.summary?.counts[kind] ?? 0;
    return n > 0
      ? { input, held: counted(n, NOUNS[kind] ?? "infinity", kind in NOUNS ? undefined : "infinities") }
      : undefined;
  };
}

const zeroToNegativePower: Rule["applies"] = (inputs, output) =>
  (inputs[1]?.summary?.counts.negative ?? 0) > 0 ? holds(0, "zero")(inputs, output) : undefined;

const tooLarge: Rule["applies"] = (inputs, { counts: { posInf = 0, negInf = 0 } }) =>
  posInf + negInf > 0 && inputs.length > 0 ? {} : undefined;

const nothingIn: Rule["applies"] = (inputs) =>
  inputs[0]?.summary?.size === 0 ? { input: inputs[0], held: "no value at all" } : undefined;

const always: Rule["applies"] = () => ({});

const ADDING = ["AddV2", "Add", "AddN", "Sub", "Sum", "BiasAdd", "Cumsum"];
const PRODUCTS = [
  "MatMul",
  "BatchMatMul",
  "BatchMatMulV2",
  "BatchMatMulV3",
  "Conv2D",
  "Conv3D",
  "Einsum",
  "Mul",
  "Prod",
  "Cumprod",
];
const DIVIDING = ["RealDiv", "Div", "TruncateDiv", "FloorDiv", "Mod", "FloorMod", "Xdivy"];
const GROWING = [...ADDING, ...PRODUCTS, "SquaredDifference", "L2Loss", "FusedBatchNormV3", "SegmentSum"];
const READING = [
  "IteratorGetNext",
  "IteratorGetNextSync",
  "ReadFile",
  "DecodeRaw",
  "DecodeCSV",
  "ParseExampleV2",
  "StringToNumber",
];

const RULES: readonly Rule[] = [
  { ops: ["Log"], because: "the logarithm of 0 is −∞", applies: holds(0, "zero"), help: CLIP_LOG },
  {
    ops: ["Log"],
    because: "the logarithm of a negative number is NaN",
    applies: holds(0, "negative"),
    help: CLIP_LOG,
  },
  { ops: ["Log1p"], because: "log1p needs values above −1", applies: holds(0, "negative"), help: CLIP_LOG },
  { ops: ["Xlogy"], because: "the logarithm of 0 is −∞", applies: holds(1, "zero"), help: CLIP_LOG },
  { ops: ["Reciprocal", "Inv"], because: "1 / 0 is infinite", applies: holds(0, "zero"), help: EPSILON },
  {
    ops: DIVIDING,
    because: "a division by 0 is infinite, and 0 / 0 is NaN",
    applies: holds(1, "zero"),
    help: EPSILON,
  },
  { ops: ["Rsqrt"], because: "1 / √0 is infinite", applies: holds(0, "zero"), help: EPSILON },
  {
    ops: ["Sqrt", "Rsqrt"],
    because: "the root of a negative number is NaN",
    applies: holds(0, "negative"),
    help: "Clip the argument of the root at 0 or a little above.",
  },
  {
    ops: ["SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"],
    because: "the gradient has no limit at 0",
    applies: holds(0, "zero"),
    help: "Add a small epsilon under the root or the norm.",
  },
  { ops: ["Pow"], because: "0 to a negative power is infinite", applies: zeroToNegativePower, help: EPSILON },
  {
    ops: ["Pow"],
    because: "a fractional power of a negative number is NaN",
    applies: holds(0, "negative"),
    help: "Take the power of an absolute or clipped value.",
  },
  {
    ops: ["Acos", "Asin", "Atanh", "Erfinv"],
    because: "it is defined only between −1 and 1",
    applies: always,
    help: "Clip the argument to just inside −1 and 1.",
  },
  { ops: ["Acosh"], because: "it is defined only from 1 on", applies: always },
  {
    ops: ["Exp", "Expm1", "Square", "Cosh", "Sinh", "Pow", "Softplus"],
    because: "its result is beyond the range of the dtype",
    applies: tooLarge,
    help: "Subtract the maximum first (tf.reduce_logsumexp, tf.nn.softmax), or clip the argument.",
  },
  {
    ops: ["Cast"],
    because: "the values are beyond the range of the narrower dtype",
    applies: tooLarge,
    help: "Scale the loss, or keep this part in float32.",
  },
  { ops: GROWING, because: "its result is beyond the range of the dtype", applies: tooLarge, help: RANGE },
  {
    ops: ["Mean"],
    because: "the mean over nothing is NaN",
    applies: nothingIn,
    help: "Skip empty batches, or use tf.math.divide_no_nan.",
  },
  {
    ops: ["SparseSoftmaxCrossEntropyWithLogits"],
    because: "a label outside the range of the classes gives NaN",
    applies: always,
    help: "Compare the labels with the number of classes.",
  },
  {
    ops: ["Placeholder", "_Arg", "Arg", "PlaceholderWithDefault"],
    because: "it is an argument: whoever called the function handed it in",
    applies: always,
  },
  {
    ops: ["ReadVariableOp", "VariableV2", "ResourceGather", "ResourceGatherNd"],
    because: "the variable held it already: see the op that assigned it last",
    applies: always,
  },
  {
    ops: READING,
    because: "it is in the input data",
    applies: always,
    help: "Check the data before they enter the model.",
  },
  {
    ops: ["Const"],
    because: "it is written so in the program; a mask of −∞ before a softmax is meant so",
    applies: always,
  },
];

/** What infinities that come in turn into, where the result is NaN and the inputs hold none. */
const FROM_INFINITY: readonly Rule[] = [
  {
    ops: ["Softmax", "LogSoftmax"],
    because: "the softmax of a row of nothing but −∞ is NaN",
    applies: holds(0, "negInf"),
    help: "Leave at least one entry of each row unmasked, or mask with a large negative number.",
  },
  { ops: ["Softmax", "LogSoftmax", ...DIVIDING], because: "∞ / ∞ is NaN", applies: always },
  { ops: [...ADDING, "Mean"], because: "∞ − ∞ is NaN", applies: always },
  { ops: PRODUCTS, because: "0 · ∞ is NaN", applies: always },
];

export function knownCause(
  opType: string,
  inputs: readonly CauseInput[],
  output: Summary,
): Cause | undefined {
  return firstCause(RULES, opType, inputs, output);
}

export function causeFromInfinity(
  opType: string,
  inputs: readonly CauseInput[],
  output: Summary,
): Cause | undefined {
  return firstCause(FROM_INFINITY, opType, inputs, output);
}

/** The reasons that an op is known for, when the numbers that would tell which it was are not there. */
export function usualCauses(opType: string): readonly Pick<Cause, "because" | "help">[] {
  return RULES.filter(({ ops }) => ops.includes(opType));
}

function firstCause(
  rules: readonly Rule[],
  opType: string,
  inputs: readonly CauseInput[],
  output: Summary,
): Cause | undefined {
  for (const { ops, because, help, applies } of rules) {
    const blame = ops.includes(opType) ? applies(inputs, output) : undefined;
    if (blame !== undefined) return { ...blame, because, help };
  }
  return undefined;
}
