/** Each row of the table of causes against real arithmetic: what is said to have happened did happen to some element. */
import { describe, expect, test } from "vitest";
import { causesOf, FROM_INFINITY, RULES } from "../src/model/causes";
import type { CauseInput } from "../src/model/evidence";
import type { BadKind, KindName, Summary } from "../src/model/health";
import { random } from "./random";

type Numbers = readonly number[];
/** Whether a reason is that of one element; of what is computed from whole inputs, of the output. */
type Witness = (output: number, ...inputs: readonly number[]) => boolean;

interface Oracle {
  readonly ops: readonly string[];
  readonly arity: number;
  /** Element by element, the second input stretched where it has one value, or of whole inputs. */
  readonly run:
    | { readonly each: (...x: number[]) => number }
    | { readonly whole: (...x: Numbers[]) => Numbers };
  readonly reasons: Readonly<Record<string, Witness>>;
  /** Larger numbers are left out. */
  readonly largest?: number;
}

const { fround, abs } = Math;
const isInfinite = (x: number) => abs(x) === Number.POSITIVE_INFINITY;
const finite = (...x: readonly number[]) => x.every(Number.isFinite);
const BEYOND = "its result is beyond the range of the dtype";
const DIVIDED: Readonly<Record<string, Witness>> = {
  "x / 0 is infinite": (o, a, b) => b === 0 && a !== 0 && isInfinite(o),
  [BEYOND]: (o, a = 0, b = 0) => finite(a, b) && b !== 0 && isInfinite(o),
  "∞ / ∞ is NaN": (o, a = 0, b = 0) => isInfinite(a) && isInfinite(b) && Number.isNaN(o),
};
const OVERFLOW: Readonly<Record<string, Witness>> = { [BEYOND]: (o, ...x) => finite(...x) && isInfinite(o) };
const DOMAIN = (text: string, inside: (x: number) => boolean): Readonly<Record<string, Witness>> => ({
  [text]: (o, x = 0) => !inside(x) && Number.isNaN(o),
});
const SUMMED: Readonly<Record<string, Witness>> = {
  ...OVERFLOW,
  "∞ − ∞ is NaN": (o, ...x) => x.some(isInfinite) && Number.isNaN(o),
  "its partial sums are beyond the range of the dtype, and ∞ − ∞ is NaN": (o, ...x) =>
    finite(...x) && Number.isNaN(o),
};
/** Where several are added, infinities may come together that only partial sums made. */
const SUMMED_UP: Readonly<Record<string, Witness>> = { ...SUMMED, "∞ − ∞ is NaN": Number.isNaN };
const MULTIPLIED: Readonly<Record<string, Witness>> = {
  ...OVERFLOW,
  "0 · ∞ is NaN": (o, ...x) => x.some(isInfinite) && Number.isNaN(o),
  "its partial products are beyond the range of the dtype, and 0 · ∞ is NaN": (o, ...x) =>
    finite(...x) && Number.isNaN(o),
};

/** By halves, as several threads do it. */
const folded =
  (none: number, join: (a: number, b: number) => number) =>
  (x: Numbers): number => {
    const all = folded(none, join);
    const half = Math.ceil(x.length / 2);
    return x.length < 2 ? (x[0] ?? none) : fround(join(all(x.slice(0, half)), all(x.slice(half))));
  };
const add = folded(0, (a, b) => a + b);
const multiply = folded(1, (a, b) => a * b);
const running = (all: (x: Numbers) => number) => (x: Numbers) => x.map((_, i) => all(x.slice(0, i + 1)));
const dot = (a: Numbers, b: Numbers) => [add(a.map((x, i) => fround(x * (b[i % b.length] ?? 0))))];
/** As C has it, and TensorFlow: 1 to any power is 1, and so is −1 to an infinite one. */
const power = (a: number, b: number) => (a === 1 || (a === -1 && isInfinite(b)) ? 1 : a ** b);

function softmax(x: Numbers): Numbers {
  const most = Math.max(...x);
  const exps = x.map((y) => Math.exp(y - most));
  return exps.map((y) => y / add(exps));
}

function logSoftmax(x: Numbers): Numbers {
  const most = Math.max(...x);
  const scale = Math.log(add(x.map((y) => Math.exp(y - most))));
  return x.map((y) => fround(y - most) - scale);
}

const each = (run: (...x: number[]) => number) => ({ each: run });
const whole = (run: (...x: Numbers[]) => Numbers) => ({ whole: run });

const ORACLES: readonly Oracle[] = [
  {
    ops: ["Log"],
    arity: 1,
    run: each(Math.log),
    reasons: {
      "the logarithm of 0 is −∞": (o, x) => x === 0 && o < 0 && isInfinite(o),
      "the logarithm of a negative number is NaN": (o, x = 0) => x < 0 && Number.isNaN(o),
    },
  },
  {
    ops: ["Log1p"],
    arity: 1,
    run: each(Math.log1p),
    reasons: {
      "log1p of −1 is −∞": (o, x) => x === -1 && isInfinite(o),
      "log1p of a value below −1 is NaN": (o, x = 0) => x < -1 && Number.isNaN(o),
    },
  },
  {
    ops: ["Xlogy"],
    arity: 2,
    run: each((x, y) => (x === 0 ? 0 : x * Math.log(y))),
    largest: 1e30,
    reasons: {
      "the logarithm of 0 is −∞": (o, x, y) => y === 0 && x !== 0 && isInfinite(o),
      "the logarithm of a negative number is NaN": (o, x, y = 0) => y < 0 && x !== 0 && Number.isNaN(o),
    },
  },
  {
    ops: ["Reciprocal", "Inv"],
    arity: 1,
    run: each((x) => 1 / x),
    reasons: {
      "1 / 0 is infinite": (o, x) => x === 0 && isInfinite(o),
      [BEYOND]: (o, x = 0) => x !== 0 && isInfinite(o),
    },
  },
  {
    ops: ["RealDiv", "Div"],
    arity: 2,
    run: each((a, b) => a / b),
    reasons: { ...DIVIDED, "0 / 0 is NaN": (o, a, b) => a === 0 && b === 0 && Number.isNaN(o) },
  },
  {
    ops: ["FloorDiv"],
    arity: 2,
    run: each((a, b) => Math.floor(a / b)),
    reasons: { ...DIVIDED, "0 / 0 is NaN": (o, a, b) => a === 0 && b === 0 && Number.isNaN(o) },
  },
  {
    ops: ["TruncateDiv"],
    arity: 2,
    run: each((a, b) => Math.trunc(a / b)),
    reasons: { ...DIVIDED, "0 / 0 is NaN": (o, a, b) => a === 0 && b === 0 && Number.isNaN(o) },
  },
  { ops: ["Xdivy"], arity: 2, run: each((a, b) => (a === 0 ? 0 : a / b)), reasons: DIVIDED },
  {
    ops: ["Mod", "FloorMod", "TruncateMod"],
    arity: 2,
    run: each((a, b) => a % b),
    reasons: {
      "the remainder of a division by 0 is NaN": (o, _, b) => b === 0 && Number.isNaN(o),
      "the remainder of ∞ is NaN": (o, a = 0) => isInfinite(a) && Number.isNaN(o),
    },
  },
  {
    ops: ["Sqrt"],
    arity: 1,
    run: each(Math.sqrt),
    reasons: { "the root of a negative number is NaN": (o, x = 0) => x < 0 && Number.isNaN(o) },
  },
  {
    ops: ["Rsqrt"],
    arity: 1,
    run: each((x) => 1 / Math.sqrt(x)),
    reasons: {
      "1 / √0 is infinite": (o, x) => x === 0 && isInfinite(o),
      "the root of a negative number is NaN": (o, x = 0) => x < 0 && Number.isNaN(o),
    },
  },
  {
    // The kernel, and what XLA makes of it.
    ops: ["SqrtGrad"],
    arity: 2,
    run: each((y, dy) => (dy === 0 ? 0 : (0.5 * dy) / y)),
    reasons: {
      "the gradient of a root has no limit at 0": (o, y, dy) => y === 0 && dy !== 0 && isInfinite(o),
      [BEYOND]: (o, y = 0, dy = 0) => finite(y, dy) && y !== 0 && isInfinite(o),
    },
  },
  {
    ops: ["SqrtGrad"],
    arity: 2,
    run: each((y, dy) => (0.5 * dy) / y),
    reasons: {
      "the gradient of a root has no limit at 0": (o, y, dy) => y === 0 && dy !== 0 && isInfinite(o),
      "the gradient of a root at 0, times 0, is NaN": (o, y, dy) => y === 0 && dy === 0 && Number.isNaN(o),
      [BEYOND]: (o, y = 0, dy = 0) => finite(y, dy) && y !== 0 && isInfinite(o),
    },
  },
  {
    ops: ["RsqrtGrad"],
    arity: 2,
    run: each((y, dy) => (dy === 0 ? 0 : -0.5 * fround(dy * y) * fround(y * y))),
    reasons: OVERFLOW,
  },
  {
    ops: ["ReciprocalGrad", "InvGrad"],
    arity: 2,
    run: each((y, dy) => -fround(y * dy) * y),
    reasons: OVERFLOW,
  },
  {
    ops: ["Pow"],
    arity: 2,
    run: each(power),
    reasons: {
      "0 to a negative power is infinite": (o, a, b = 0) => a === 0 && b < 0 && isInfinite(o),
      "a fractional power of a negative number is NaN": (o, a = 0) => a < 0 && Number.isNaN(o),
      [BEYOND]: (o, a = 0, b = 0) => finite(a, b) && !(a === 0 && b < 0) && isInfinite(o),
    },
  },
  ...(["acos", "asin", "atanh"] as const).map((name) => ({
    ops: [{ acos: "Acos", asin: "Asin", atanh: "Atanh" }[name]],
    arity: 1,
    run: each(Math[name]),
    reasons: {
      ...DOMAIN("it is defined only between −1 and 1", (x) => abs(x) <= 1),
      "it is infinite at −1 and 1": (o: number, x = 0) => abs(x) === 1 && isInfinite(o),
    },
  })),
  {
    // Of these only where they are infinite, and where they are not defined.
    ops: ["Erfinv"],
    arity: 1,
    run: each((x) => (abs(x) > 1 ? Number.NaN : x / (1 - abs(x) > 0 ? 1 : 0))),
    reasons: {
      ...DOMAIN("it is defined only between −1 and 1", (x) => abs(x) <= 1),
      "it is infinite at −1 and 1": (o, x = 0) => abs(x) === 1 && isInfinite(o),
    },
  },
  {
    ops: ["Ndtri"],
    arity: 1,
    run: each((x) => (x < 0 || x > 1 ? Number.NaN : Math.log(x / (1 - x)))),
    reasons: {
      ...DOMAIN("it is defined only between 0 and 1", (x) => x >= 0 && x <= 1),
      "it is infinite at 0 and 1": (o, x) => (x === 0 || x === 1) && isInfinite(o),
    },
  },
  {
    ops: ["Acosh"],
    arity: 1,
    run: each(Math.acosh),
    reasons: DOMAIN("it is defined only from 1 on", (x) => x >= 1),
  },
  { ops: ["Exp"], arity: 1, run: each(Math.exp), reasons: OVERFLOW },
  { ops: ["Expm1"], arity: 1, run: each(Math.expm1), reasons: OVERFLOW },
  { ops: ["Square"], arity: 1, run: each((x) => x * x), reasons: OVERFLOW },
  { ops: ["Cosh"], arity: 1, run: each(Math.cosh), reasons: OVERFLOW },
  { ops: ["Sinh"], arity: 1, run: each(Math.sinh), reasons: OVERFLOW },
  {
    ops: ["Cast"],
    arity: 1,
    run: each((x) => (abs(x) >= 65520 ? x * Number.POSITIVE_INFINITY : x)),
    reasons: {
      "the values are beyond the range of the narrower dtype": (o, x = 0) => finite(x) && isInfinite(o),
    },
  },
  { ops: ["AddV2", "Add", "BiasAdd"], arity: 2, run: each((a, b) => a + b), reasons: SUMMED },
  { ops: ["Sub"], arity: 2, run: each((a, b) => a - b), reasons: SUMMED },
  { ops: ["SquaredDifference"], arity: 2, run: each((a, b) => (a - b) ** 2), reasons: SUMMED },
  { ops: ["AddN"], arity: 4, run: each((...x) => add(x)), reasons: SUMMED_UP },
  ...["Sum", "SegmentSum", "UnsortedSegmentSum"].map((op) => ({
    ops: [op],
    arity: 1,
    run: whole((x) => [add(x)]),
    reasons: SUMMED_UP,
  })),
  { ops: ["Cumsum"], arity: 1, run: whole(running(add)), reasons: SUMMED_UP },
  {
    ops: ["Mean"],
    arity: 1,
    run: whole((x) => [add(x) / x.length]),
    reasons: { ...SUMMED, "the mean over nothing is NaN": (o, ...x) => x.length === 0 && Number.isNaN(o) },
  },
  { ops: ["L2Loss"], arity: 1, run: whole((x) => [add(x.map((y) => fround(y * y))) / 2]), reasons: OVERFLOW },
  {
    ops: [
      "MatMul",
      "BatchMatMul",
      "BatchMatMulV2",
      "BatchMatMulV3",
      "Conv2D",
      "Conv3D",
      "DepthwiseConv2dNative",
      "Einsum",
    ],
    arity: 2,
    run: whole(dot),
    reasons: {
      ...SUMMED,
      "0 · ∞ and ∞ − ∞ are NaN": (o, ...x) => x.some(isInfinite) && Number.isNaN(o),
    },
  },
  {
    ops: ["Mul"],
    arity: 2,
    run: each((a, b) => a * b),
    reasons: {
      ...OVERFLOW,
      "0 · ∞ is NaN": (o, a = 1, b = 1) =>
        (a === 0 ? isInfinite(b) : b === 0 && isInfinite(a)) && Number.isNaN(o),
    },
  },
  { ops: ["Prod"], arity: 1, run: whole((x) => [multiply(x)]), reasons: MULTIPLIED },
  { ops: ["Cumprod"], arity: 1, run: whole(running(multiply)), reasons: MULTIPLIED },
  {
    ops: ["FusedBatchNormV3"],
    arity: 3,
    run: each((x, scale, offset) => fround(x * scale) + offset),
    reasons: OVERFLOW,
  },
  {
    ops: ["Softmax"],
    arity: 1,
    run: whole(softmax),
    reasons: {
      "the softmax of a row of nothing but −∞ is NaN": (o, ...x) =>
        x.every((y) => y === Number.NEGATIVE_INFINITY) && Number.isNaN(o),
      "the softmax of a row with +∞ is NaN": (o, ...x) =>
        x.includes(Number.POSITIVE_INFINITY) && Number.isNaN(o),
    },
  },
  {
    ops: ["LogSoftmax"],
    arity: 1,
    run: whole(logSoftmax),
    reasons: {
      [BEYOND]: (o, ...x) => finite(...x) && isInfinite(o),
      "the softmax of a row of nothing but −∞ is NaN": (o, ...x) =>
        x.every((y) => y === Number.NEGATIVE_INFINITY) && Number.isNaN(o),
      "the softmax of a row with +∞ is NaN": (o, ...x) =>
        x.includes(Number.POSITIVE_INFINITY) && Number.isNaN(o),
    },
  },
  ...(["sin", "cos", "tan"] as const).map((name) => ({
    ops: [{ sin: "Sin", cos: "Cos", tan: "Tan" }[name]],
    arity: 1,
    run: each(Math[name]),
    reasons: { "it has no value at ∞": (o: number, x = 0) => isInfinite(x) && Number.isNaN(o) },
  })),
];

/** Rows that only say where a bad value is, or that nothing here can compute. */
const NOT_COMPUTED = new Set([
  ...RULES.filter(({ gives }) => gives.length === 3).map(({ because }) => because),
  "a label outside the range of the classes gives NaN",
  "a label of 0 times a logit of −∞ is NaN",
]);

const VALUES = [
  0, -0, 1, -1, 0.5, -0.5, 2, -2, 3, 90, -90, 1e-39, 1e-20, -1e-20, 1e20, -1e20, 3e38, -3e38,
].map(fround);
const BAD_VALUES = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];

function kindOf(x: number): KindName {
  if (Number.isNaN(x)) return "nan";
  if (isInfinite(x)) return x > 0 ? "posInf" : "negInf";
  return x === 0 ? "zero" : x > 0 ? "positive" : "negative";
}

type Measure = (values: Numbers) => Summary;
const isBad = (values: Numbers) => !finite(...values);
const counted = (values: Numbers, kinds: readonly KindName[]) =>
  Object.fromEntries(kinds.map((kind) => [kind, values.filter((x) => kindOf(x) === kind).length]));
const WAYS: Readonly<Record<string, Measure>> = {
  FULL_HEALTH: (x) => ({
    size: x.length,
    counts: counted(x, ["negInf", "negative", "zero", "positive", "posInf", "nan"]),
    bad: isBad(x),
  }),
  CONCISE_HEALTH: (x) => ({ size: x.length, counts: counted(x, ["negInf", "posInf", "nan"]), bad: isBad(x) }),
  CURT_HEALTH: (x) => ({ counts: {}, bad: isBad(x) }),
};

interface Sample {
  readonly inputs: readonly Numbers[];
  readonly output: Numbers;
}

function sample(oracle: Oracle, next: () => number): Sample {
  const largest = oracle.largest ?? Number.POSITIVE_INFINITY;
  const good = VALUES.filter((x) => abs(x) <= largest);
  // A few values at a time, so that all of a tensor are often of one kind.
  const one = (of: Numbers) => of[Math.floor(next() * of.length)] ?? 0;
  const large = good.filter((x) => abs(x) >= 1e20);
  const pool = next() < 0.7 ? [one(good), one(good), one(good)] : [one(next() < 0.5 ? good : large)];
  if (next() < 0.4) pool.push(one(BAD_VALUES));
  if (next() < 0.3) pool.push(...pool.map((x) => -x));
  const order = next() < 0.3;
  const tensor = (size: number) =>
    Array.from({ length: size }, () => one(pool)).sort((a, b) => (order ? a - b : 0));
  const size = next() < 0.05 && "whole" in oracle.run ? 0 : 1 + Math.floor(next() * 6);
  const inputs = Array.from({ length: oracle.arity }, (_, i) => tensor(i > 0 && next() < 0.3 ? 1 : size));
  return { inputs, output: compute(oracle, inputs).map(fround) };
}

const at = (inputs: readonly Numbers[], i: number) => inputs.map((x) => x[i % x.length] ?? Number.NaN);

function compute({ run }: Oracle, inputs: readonly Numbers[]): Numbers {
  if ("whole" in run) return run.whole(...inputs);
  return (inputs[0] ?? []).map((_, i) => run.each(...at(inputs, i)));
}

function happened({ run, reasons }: Oracle, because: string, { inputs, output }: Sample): boolean {
  const witness = reasons[because];
  if (witness === undefined) return false;
  return output.some((o, i) =>
    "whole" in run ? witness(o, ...inputs.flat()) : witness(o, ...at(inputs, i)),
  );
}

const known = (op: string) =>
  ORACLES.filter(({ ops }) => ops.includes(op)).flatMap(({ reasons }) => Object.keys(reasons));

const ROUNDS = 3000;

/** Random numbers from 0 to 1, other ones for each oracle. */
function shares(oracle: Oracle): () => number {
  const next = random(ORACLES.indexOf(oracle) + 1);
  return () => next(2 ** 20) / 2 ** 20;
}

describe("a reason that is stated", () => {
  const proven = new Set<string>();

  test.each(ORACLES.map((oracle) => [oracle.ops.join(" "), oracle] as const))(
    "is what happened to some value of %s, however much was measured",
    (_, oracle) => {
      const next = shares(oracle);
      const wrong: string[] = [];
      const reasons = known(oracle.ops[0] ?? "");
      for (let round = 0; round < ROUNDS; round++) {
        const made = sample(oracle, next);
        if (!isBad(made.output)) continue;
        const op = oracle.ops[Math.floor(next() * oracle.ops.length)] ?? "";
        const [name, measure] = Object.entries(WAYS)[round % 3] as [string, Measure];
        const inputs = made.inputs.map(
          (values, i): CauseInput => ({
            name: `${i}`,
            summary: next() < 0.1 ? undefined : measure(values),
          }),
        );
        const { sure, possible } = causesOf(op, inputs, measure(made.output));
        for (const { because, blames } of sure) {
          const rightly = happened(oracle, because, made) && name !== "CURT_HEALTH";
          if (!rightly || blames.some(({ held }) => held.startsWith("0 ")))
            wrong.push(`${name} ${op}: ${because}: ${JSON.stringify(made)}`);
          proven.add(`${op}: ${because}`);
        }
        for (const { because } of possible)
          if (!reasons.includes(because)) wrong.push(`${op}: possibly ${because}`);
      }
      expect(wrong).toEqual([]);
    },
  );

  test("is found for each row of the table and each of its ops", () => {
    const rows = [...RULES, ...FROM_INFINITY].filter(({ because }) => !NOT_COMPUTED.has(because));
    const missing = rows
      .flatMap(({ ops, because }) => ops.map((op) => `${op}: ${because}`))
      .filter((row) => !proven.has(row));
    expect(missing).toEqual([]);
  });

  test("is there wherever finite numbers that were counted came to something bad", () => {
    const measure = WAYS.FULL_HEALTH as Measure;
    for (const oracle of ORACLES) {
      const next = shares(oracle);
      for (let round = 0; round < ROUNDS / 10; round++) {
        const made = sample(oracle, next);
        if (!isBad(made.output) || isBad(made.inputs.flat())) continue;
        const inputs = made.inputs.map(
          (values, i): CauseInput => ({ name: `${i}`, summary: measure(values) }),
        );
        const op = oracle.ops[0] ?? "";
        const { sure, possible } = causesOf(op, inputs, measure(made.output));
        expect(sure.length + possible.length, `${op}: ${JSON.stringify(made)}`).toBeGreaterThan(0);
      }
    }
  });
});

test("a row is looked at only for a kind that it gives", () => {
  const input: CauseInput = { name: "x", summary: (WAYS.FULL_HEALTH as Measure)([0, -1, 1]) };
  for (const rule of [...RULES, ...FROM_INFINITY])
    for (const kind of ["negInf", "posInf", "nan"] as readonly BadKind[]) {
      const { sure, possible } = causesOf(rule.ops[0] ?? "", [input, input], {
        size: 3,
        counts: { [kind]: 3 },
        bad: true,
      });
      const named = [...sure, ...possible].some(({ because }) => because === rule.because);
      const given = [...RULES, ...FROM_INFINITY]
        .filter(({ because, ops }) => because === rule.because && ops.includes(rule.ops[0] ?? ""))
        .some(({ gives }) => gives.includes(kind));
      expect(named && !given, `${rule.because}: ${kind}`).toBe(false);
    }
});

test("rows that nothing here can compute are guessed or say only where", () => {
  const measure = WAYS.FULL_HEALTH as Measure;
  const named = (values: Numbers): CauseInput => ({ name: "x", summary: measure(values) });
  const nan = measure([Number.NaN]);
  const logits = causesOf(
    "SoftmaxCrossEntropyWithLogits",
    [named([Number.NEGATIVE_INFINITY, 1]), named([0, 1])],
    nan,
  );
  expect([logits.sure.length, logits.possible[0]?.because]).toEqual([
    0,
    "a label of 0 times a logit of −∞ is NaN",
  ]);
  const labels = causesOf(
    "SparseSoftmaxCrossEntropyWithLogits",
    [named([1, 2]), { name: "labels", summary: undefined }],
    nan,
  );
  expect(labels.sure[0]?.because).toBe("a label outside the range of the classes gives NaN");
});
