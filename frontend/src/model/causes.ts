/**
 * The known ways in which an op makes NaN or infinity out of finite numbers: a table, one row for each way. A row names
 * the ops, says from the numbers of the inputs whether it applies, gives the reason in words and what usually helps.
 */
import { counted } from "../base/text";
import type { Summary } from "./health";

export interface CauseInput {
  readonly name: string;
  readonly summary: Summary | undefined;
}

export interface Cause {
  /** The input that is to blame, when one is. */
  readonly input?: CauseInput | undefined;
  /** What that input held: "200 zeros". */
  readonly held?: string | undefined;
  /** The reason, a clause: "the logarithm of 0 is −∞". */
  readonly because: string;
  readonly help?: string;
}

interface Rule {
  readonly ops: readonly string[];
  readonly find: (inputs: readonly CauseInput[], output: Summary) => Omit<Cause, "help"> | undefined;
  readonly help?: string;
}

const CLIP_LOG = "Clip the argument of the log from below, or use a loss that takes the logits.";
const EPSILON = "Add a small epsilon under the division or the root, or use tf.math.divide_no_nan.";
const RANGE =
  "Look at the scale of the inputs: learning rate, initialisation, normalisation, or a wider dtype.";

/** Blames the input in the slot when it holds any of the kind. */
function holds(
  slot: number,
  kind: "zero" | "negative" | "posInf" | "negInf",
  noun: string,
  because: string,
): Rule["find"] {
  return (inputs) => {
    const input = inputs[slot];
    const n = input?.summary?.counts[kind] ?? 0;
    return n > 0 ? { input, held: counted(n, noun), because } : undefined;
  };
}

function overflow(inputs: readonly CauseInput[], output: Summary): Omit<Cause, "help"> | undefined {
  const { posInf = 0, negInf = 0 } = output.counts;
  if (posInf + negInf === 0 || inputs.length === 0) return undefined;
  return { because: `its result is beyond the range of ${output.dtype ?? "the dtype"}` };
}

const always =
  (because: string): Rule["find"] =>
  () => ({ because });

const RULES: readonly Rule[] = [
  { ops: ["Log"], find: holds(0, "zero", "zero", "the logarithm of 0 is −∞"), help: CLIP_LOG },
  {
    ops: ["Log"],
    find: holds(0, "negative", "negative value", "the logarithm of a negative number is NaN"),
    help: CLIP_LOG,
  },
  {
    ops: ["Log1p"],
    find: holds(0, "negative", "negative value", "log1p needs values above −1"),
    help: CLIP_LOG,
  },
  { ops: ["Xlogy"], find: holds(1, "zero", "zero", "the logarithm of 0 is −∞"), help: CLIP_LOG },
  { ops: ["Reciprocal", "Inv"], find: holds(0, "zero", "zero", "1 / 0 is infinite"), help: EPSILON },
  {
    ops: ["RealDiv", "Div", "TruncateDiv", "FloorDiv", "Mod", "FloorMod", "Xdivy"],
    find: holds(1, "zero", "zero", "a division by 0 is infinite, and 0 / 0 is NaN"),
    help: EPSILON,
  },
  { ops: ["Rsqrt"], find: holds(0, "zero", "zero", "1 / √0 is infinite"), help: EPSILON },
  {
    ops: ["Sqrt", "Rsqrt"],
    find: holds(0, "negative", "negative value", "the root of a negative number is NaN"),
    help: "Clip the argument of the root at 0 or a little above.",
  },
  {
    ops: ["SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"],
    find: holds(0, "zero", "zero", "the gradient has no limit at 0"),
    help: "Add a small epsilon under the root or the norm.",
  },
  {
    ops: ["Pow"],
    find: (inputs) =>
      (inputs[1]?.summary?.counts.negative ?? 0) > 0
        ? holds(0, "zero", "zero", "0 to a negative power is infinite")(inputs, { counts: {} })
        : undefined,
    help: EPSILON,
  },
  {
    ops: ["Pow"],
    find: holds(0, "negative", "negative value", "a fractional power of a negative number is NaN"),
    help: "Take the power of an absolute or clipped value.",
  },
  {
    ops: ["Acos", "Asin", "Atanh", "Erfinv"],
    find: always("it is defined only between −1 and 1"),
    help: "Clip the argument to just inside −1 and 1.",
  },
  { ops: ["Acosh"], find: always("it is defined only from 1 on") },
  {
    ops: ["Exp", "Expm1", "Square", "Cosh", "Sinh", "Pow", "Softplus"],
    find: overflow,
    help: "Subtract the maximum first (tf.reduce_logsumexp, tf.nn.softmax), or clip the argument.",
  },
  {
    ops: ["Cast"],
    find: overflow,
    help: "The values do not fit the narrower dtype: scale the loss, or keep this part in float32.",
  },
  {
    ops: [
      "MatMul",
      "BatchMatMul",
      "BatchMatMulV2",
      "BatchMatMulV3",
      "Conv2D",
      "Conv3D",
      "Einsum",
      "Mul",
      "AddV2",
      "Add",
      "AddN",
      "Sub",
      "Sum",
      "Prod",
      "Cumsum",
      "Cumprod",
      "SquaredDifference",
      "L2Loss",
      "BiasAdd",
      "FusedBatchNormV3",
      "SegmentSum",
    ],
    find: overflow,
    help: RANGE,
  },
  {
    ops: ["Mean"],
    find: (inputs) =>
      inputs[0]?.summary?.size === 0
        ? { input: inputs[0], held: "no value at all", because: "the mean over nothing is NaN" }
        : undefined,
    help: "Skip empty batches, or use tf.math.divide_no_nan.",
  },
  {
    ops: ["SparseSoftmaxCrossEntropyWithLogits"],
    find: always("a label outside the range of the classes gives NaN"),
    help: "Compare the labels with the number of classes.",
  },
  {
    ops: ["Placeholder", "_Arg", "Arg", "PlaceholderWithDefault"],
    find: always("it is an argument: whoever called the function handed it in"),
  },
  {
    ops: ["ReadVariableOp", "VariableV2", "ResourceGather", "ResourceGatherNd"],
    find: always("the variable held it already: see the op that assigned it last"),
  },
  {
    ops: [
      "IteratorGetNext",
      "IteratorGetNextSync",
      "ReadFile",
      "DecodeRaw",
      "DecodeCSV",
      "ParseExampleV2",
      "StringToNumber",
    ],
    find: always("it is in the input data"),
    help: "Check the data before they enter the model.",
  },
  {
    ops: ["Const"],
    find: always("it is written so in the program. A mask of −∞ before a softmax is meant so"),
  },
];

/** What infinities that come in turn into, where the result is NaN and the inputs hold none. */
const FROM_INFINITY: readonly Rule[] = [
  {
    ops: ["Softmax", "LogSoftmax"],
    find: holds(0, "negInf", "−∞", "the softmax of a row of nothing but −∞ is NaN"),
    help: "Leave at least one entry of each row unmasked, or mask with a large negative number.",
  },
  { ops: ["Softmax", "LogSoftmax"], find: holds(0, "posInf", "+∞", "∞ / ∞ is NaN") },
  { ops: ["Sub", "AddV2", "Add", "AddN", "Sum", "Mean", "BiasAdd", "Cumsum"], find: always("∞ − ∞ is NaN") },
  { ops: ["Mul", "MatMul", "BatchMatMulV2", "Einsum"], find: always("0 · ∞ is NaN") },
  { ops: ["RealDiv", "Div"], find: always("∞ / ∞ is NaN") },
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

function firstCause(
  rules: readonly Rule[],
  opType: string,
  inputs: readonly CauseInput[],
  output: Summary,
): Cause | undefined {
  for (const rule of rules) {
    const found = rule.ops.includes(opType) ? rule.find(inputs, output) : undefined;
    if (found !== undefined) return rule.help === undefined ? found : { ...found, help: rule.help };
  }
  return undefined;
}
