/**
 * The known ways in which an op makes NaN or infinity: a table, one row for each way. A row names the ops, the kinds that it
 * can give, the reason in words and what usually helps, and what the numbers must say for it.
 */
import {
  allAre,
  always,
  type Blame,
  below0,
  both,
  type CauseInput,
  dividedByZero,
  type Evidence,
  either,
  finiteIn,
  guess,
  holds,
  infiniteIn,
  infinities,
  knownFinite,
  measured,
  newKinds,
  nothingIn,
  unless,
} from "./evidence";
import type { BadKind, Summary } from "./health";

/** A reason: a clause such as "the logarithm of 0 is −∞". */
export interface Reason {
  readonly because: string;
  readonly help?: string | undefined;
}

/** A reason that the numbers prove. */
export interface Cause extends Reason {
  /** The inputs to blame, when some are, and what they held. */
  readonly blames: readonly Blame[];
}

export interface Causes {
  readonly sure: readonly Cause[];
  /** What the numbers neither prove nor refute. */
  readonly possible: readonly Reason[];
}

export interface Rule extends Reason {
  readonly ops: readonly string[];
  /** The kinds that it can give; a row is looked at only for these. */
  readonly gives: readonly BadKind[];
  readonly evidence: Evidence;
}

const NAN = ["nan"] as const;
const INFINITE = ["negInf", "posInf"] as const;
/** Nothing is said of how it came to be, only of where. */
const ANY = ["negInf", "posInf", "nan"] as const;

const CLIP_LOG = "Clip the argument of the log from below, or use a loss that takes the logits.";
const EPSILON = "Add a small epsilon under the division or the root, or use tf.math.divide_no_nan.";
const RANGE =
  "Look at the scale of the inputs: learning rate, initialisation, normalisation, or a wider dtype.";
const MAXIMUM = "Subtract the maximum first (tf.reduce_logsumexp, tf.nn.softmax), or clip the argument.";
const INSIDE = "Clip the argument to just inside the range.";
const BEYOND = "its result is beyond the range of the dtype";

const DIVIDING = ["RealDiv", "Div", "TruncateDiv", "FloorDiv"];
const REMAINDERS = ["Mod", "FloorMod", "TruncateMod"];
const SUMS = ["AddN", "Sum", "Mean", "Cumsum", "SegmentSum", "UnsortedSegmentSum"];
const SUMS_OF_TWO = ["AddV2", "Add", "Sub", "BiasAdd", "SquaredDifference"];
const SUMS_OF_PRODUCTS = [
  "MatMul",
  "BatchMatMul",
  "BatchMatMulV2",
  "BatchMatMulV3",
  "Conv2D",
  "Conv3D",
  "DepthwiseConv2dNative",
  "Einsum",
];
const PRODUCTS = ["Prod", "Cumprod"];
const READING = [
  "IteratorGetNext",
  "IteratorGetNextSync",
  "ReadFile",
  "DecodeRaw",
  "DecodeCSV",
  "ParseExampleV2",
  "StringToNumber",
];

/** Ops of which only the first input is computed with: the others say where, or are whole numbers. */
const FIRST_INPUT_ONLY = new Set([
  ...SUMS.filter((op) => op !== "AddN"),
  ...PRODUCTS,
  "SparseSoftmaxCrossEntropyWithLogits",
]);

const zeros = both(holds(0, "zero"), holds(1, "zero"));
const infinitiesOfBoth = both(infiniteIn(0), infiniteIn(1));
const zeroWithNegative = both(holds(0, "zero"), holds(1, "negative"));

/** The first that is proven is said; so what is looked at by numbers comes before what is so by exclusion. */
export const RULES: readonly Rule[] = [
  {
    ops: ["Log"],
    gives: ["negInf"],
    because: "the logarithm of 0 is −∞",
    evidence: holds(0, "zero"),
    help: CLIP_LOG,
  },
  {
    ops: ["Log"],
    gives: NAN,
    because: "the logarithm of a negative number is NaN",
    evidence: below0(0),
    help: CLIP_LOG,
  },
  {
    ops: ["Log1p"],
    gives: ["negInf"],
    because: "log1p of −1 is −∞",
    evidence: holds(0, "negative"),
    help: CLIP_LOG,
  },
  {
    ops: ["Log1p"],
    gives: NAN,
    because: "log1p of a value below −1 is NaN",
    evidence: below0(0),
    help: CLIP_LOG,
  },
  {
    // Where x is 0 so is the result. No logarithm is so large that x times it is beyond the range but for an x near its end.
    ops: ["Xlogy"],
    gives: INFINITE,
    because: "the logarithm of 0 is −∞",
    evidence: unless(infinities, holds(1, "zero")),
    help: CLIP_LOG,
  },
  {
    ops: ["Xlogy"],
    gives: NAN,
    because: "the logarithm of a negative number is NaN",
    evidence: unless(infinities, holds(1, "negative")),
    help: CLIP_LOG,
  },
  {
    ops: ["Reciprocal", "Inv"],
    gives: INFINITE,
    because: "1 / 0 is infinite",
    evidence: holds(0, "zero"),
    help: EPSILON,
  },
  {
    ops: DIVIDING,
    gives: INFINITE,
    because: "x / 0 is infinite",
    evidence: dividedByZero({ over: 0, under: 1, zeroOverZero: "nan" }),
    help: EPSILON,
  },
  {
    ops: DIVIDING,
    gives: NAN,
    because: "0 / 0 is NaN",
    evidence: unless(infinitiesOfBoth, zeros),
    help: EPSILON,
  },
  {
    ops: ["Xdivy"],
    gives: INFINITE,
    because: "x / 0 is infinite",
    evidence: dividedByZero({ over: 0, under: 1, zeroOverZero: "finite" }),
    help: EPSILON,
  },
  {
    ops: [...DIVIDING, "Xdivy"],
    gives: INFINITE,
    because: BEYOND,
    evidence: unless(holds(1, "zero"), finiteIn),
    help: EPSILON,
  },
  {
    ops: DIVIDING,
    gives: NAN,
    because: "∞ / ∞ is NaN",
    evidence: unless(zeros, infinitiesOfBoth),
  },
  { ops: ["Xdivy"], gives: NAN, because: "∞ / ∞ is NaN", evidence: infinitiesOfBoth },
  {
    ops: REMAINDERS,
    gives: NAN,
    because: "the remainder of a division by 0 is NaN",
    evidence: holds(1, "zero"),
    help: "Keep what is divided by away from 0.",
  },
  { ops: REMAINDERS, gives: NAN, because: "the remainder of ∞ is NaN", evidence: infiniteIn(0) },
  {
    ops: ["Rsqrt"],
    gives: INFINITE,
    because: "1 / √0 is infinite",
    evidence: holds(0, "zero"),
    help: EPSILON,
  },
  {
    ops: ["Sqrt", "Rsqrt"],
    gives: NAN,
    because: "the root of a negative number is NaN",
    evidence: below0(0),
    help: "Clip the argument of the root at 0 or a little above.",
  },
  {
    ops: ["SqrtGrad"],
    gives: INFINITE,
    because: "the gradient of a root has no limit at 0",
    evidence: dividedByZero({ over: 1, under: 0, zeroOverZero: "finite" }),
    help: "Add a small epsilon under the root or the norm.",
  },
  {
    // Compiled by XLA; the kernel itself leaves a gradient of 0 as it is.
    ops: ["SqrtGrad"],
    gives: NAN,
    because: "the gradient of a root at 0, times 0, is NaN",
    evidence: unless(infinitiesOfBoth, zeros),
    help: "Add a small epsilon under the root or the norm.",
  },
  {
    ops: ["Pow"],
    gives: INFINITE,
    because: "0 to a negative power is infinite",
    // Certain where every power of the 0 is negative, or every negative power is one of 0.
    evidence: either(
      both(zeroWithNegative, either(allAre(0, "zero"), allAre(1, "negative"))),
      guess(zeroWithNegative),
    ),
    help: EPSILON,
  },
  {
    ops: ["Pow"],
    gives: NAN,
    because: "a fractional power of a negative number is NaN",
    evidence: holds(0, "negative"),
    help: "Take the power of an absolute or clipped value.",
  },
  {
    ops: ["Pow"],
    gives: INFINITE,
    because: BEYOND,
    evidence: unless(zeroWithNegative, finiteIn),
    help: RANGE,
  },
  {
    ops: ["Acos", "Asin", "Atanh", "Erfinv"],
    gives: NAN,
    because: "it is defined only between −1 and 1",
    evidence: either(infiniteIn(0), measured),
    help: INSIDE,
  },
  {
    ops: ["Atanh", "Erfinv"],
    gives: INFINITE,
    because: "it is infinite at −1 and 1",
    evidence: measured,
    help: INSIDE,
  },
  {
    ops: ["Ndtri"],
    gives: NAN,
    because: "it is defined only between 0 and 1",
    evidence: either(infiniteIn(0), measured),
    help: INSIDE,
  },
  { ops: ["Ndtri"], gives: INFINITE, because: "it is infinite at 0 and 1", evidence: measured, help: INSIDE },
  {
    ops: ["Acosh"],
    gives: NAN,
    because: "it is defined only from 1 on",
    evidence: either(holds(0, "negInf"), measured),
    help: INSIDE,
  },
  {
    ops: ["Exp", "Expm1", "Square", "Cosh"],
    gives: ["posInf"],
    because: BEYOND,
    evidence: finiteIn,
    help: MAXIMUM,
  },
  { ops: ["Sinh"], gives: INFINITE, because: BEYOND, evidence: finiteIn, help: MAXIMUM },
  {
    ops: ["Reciprocal", "Inv", "SqrtGrad"],
    gives: INFINITE,
    because: BEYOND,
    evidence: unless(holds(0, "zero"), finiteIn),
    help: EPSILON,
  },
  {
    ops: ["Cast"],
    gives: INFINITE,
    because: "the values are beyond the range of the narrower dtype",
    evidence: finiteIn,
    help: "Scale the loss, or keep this part in float32.",
  },
  {
    ops: ["Mean"],
    gives: NAN,
    because: "the mean over nothing is NaN",
    evidence: nothingIn,
    help: "Skip empty batches, or use tf.math.divide_no_nan.",
  },
  {
    ops: [
      ...SUMS,
      ...SUMS_OF_TWO,
      ...SUMS_OF_PRODUCTS,
      ...PRODUCTS,
      "Mul",
      "L2Loss",
      "FusedBatchNormV3",
      "LogSoftmax",
      "RsqrtGrad",
      "ReciprocalGrad",
      "InvGrad",
    ],
    gives: INFINITE,
    because: BEYOND,
    evidence: finiteIn,
    help: RANGE,
  },
  {
    ops: [...SUMS.filter((op) => op !== "Mean"), ...SUMS_OF_PRODUCTS],
    gives: NAN,
    because: "its partial sums are beyond the range of the dtype, and ∞ − ∞ is NaN",
    evidence: finiteIn,
    help: RANGE,
  },
  {
    ops: ["Mean"],
    gives: NAN,
    because: "its partial sums are beyond the range of the dtype, and ∞ − ∞ is NaN",
    evidence: unless(nothingIn, finiteIn),
    help: RANGE,
  },
  {
    ops: PRODUCTS,
    gives: NAN,
    because: "its partial products are beyond the range of the dtype, and 0 · ∞ is NaN",
    evidence: finiteIn,
    help: RANGE,
  },
  {
    ops: ["SparseSoftmaxCrossEntropyWithLogits"],
    gives: NAN,
    because: "a label outside the range of the classes gives NaN",
    evidence: finiteIn,
    help: "Compare the labels with the number of classes.",
  },
  {
    ops: ["Placeholder", "_Arg", "Arg", "PlaceholderWithDefault"],
    gives: ANY,
    because: "it is an argument: whoever called the function handed it in",
    evidence: always,
  },
  {
    ops: ["ReadVariableOp", "VariableV2", "ResourceGather", "ResourceGatherNd"],
    gives: ANY,
    because: "the variable held it already: see the op that assigned it last",
    evidence: always,
  },
  {
    ops: READING,
    gives: ANY,
    because: "it is in the input data",
    evidence: always,
    help: "Check the data before they enter the model.",
  },
  {
    ops: ["Const"],
    gives: ANY,
    because: "it is written so in the program; a mask of −∞ before a softmax is meant so",
    evidence: always,
  },
];

/** What infinities that come in turn into, where no NaN does. */
export const FROM_INFINITY: readonly Rule[] = [
  {
    ops: ["Softmax", "LogSoftmax"],
    gives: NAN,
    because: "the softmax of a row of nothing but −∞ is NaN",
    evidence: unless(holds(0, "posInf"), holds(0, "negInf")),
    help: "Leave at least one entry of each row unmasked, or mask with a large negative number.",
  },
  {
    ops: ["Softmax", "LogSoftmax"],
    gives: NAN,
    because: "the softmax of a row with +∞ is NaN",
    evidence: holds(0, "posInf"),
  },
  {
    ops: ["SoftmaxCrossEntropyWithLogits"],
    gives: NAN,
    because: "a label of 0 times a logit of −∞ is NaN",
    // A row of nothing but −∞ is NaN whatever its labels are.
    evidence: guess(both(holds(0, "negInf"), holds(1, "zero"))),
    help: "Mask with a large negative number instead of −∞.",
  },
  { ops: SUMS_OF_TWO, gives: NAN, because: "∞ − ∞ is NaN", evidence: infinitiesOfBoth },
  { ops: SUMS, gives: NAN, because: "∞ − ∞ is NaN", evidence: infinities },
  {
    ops: ["Mul"],
    gives: NAN,
    because: "0 · ∞ is NaN",
    evidence: either(both(infiniteIn(0), holds(1, "zero")), both(infiniteIn(1), holds(0, "zero"))),
  },
  { ops: SUMS_OF_PRODUCTS, gives: NAN, because: "0 · ∞ and ∞ − ∞ are NaN", evidence: infinities },
  { ops: PRODUCTS, gives: NAN, because: "0 · ∞ is NaN", evidence: infinities },
  {
    ops: ["Sin", "Cos", "Tan"],
    gives: NAN,
    because: "it has no value at ∞",
    evidence: infiniteIn(0),
  },
];

/**
 * Why the output is bad in the ways in which no input is. A reason counts only for the kinds that it gives; where it is not
 * known which kinds came out, none is proven but those that say where and not how.
 */
export function causesOf(opType: string, all: readonly CauseInput[], output: Summary): Causes {
  const inputs = FIRST_INPUT_ONLY.has(opType) ? all.slice(0, 1) : all;
  const kinds = newKinds(inputs, output);
  // A NaN may have been in what was not measured.
  const isNanNew = inputs.every((input) => knownFinite(input) !== undefined);
  const provable = ({ gives }: Rule) =>
    gives === ANY || (kinds !== undefined && (isNanNew || !gives.includes("nan")));
  const open = new Set<BadKind>(kinds ?? ANY);
  const sure: Cause[] = [];
  const guesses: Rule[] = [];
  for (const rule of [...RULES, ...FROM_INFINITY]) {
    if (!rule.ops.includes(opType) || !rule.gives.some((kind) => open.has(kind))) continue;
    const found = rule.evidence(inputs, output);
    if (found === undefined) continue;
    if (found === "maybe" || !provable(rule)) guesses.push(rule);
    else {
      sure.push({ because: rule.because, help: rule.help, blames: found });
      for (const kind of rule.gives) open.delete(kind);
    }
  }
  return { sure, possible: guesses.filter(({ gives }) => gives.some((kind) => open.has(kind))) };
}
