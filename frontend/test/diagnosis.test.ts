import { describe, expect, test } from "vitest";
import { diagnose, type Suspect } from "../src/model/diagnosis";
import type { CauseInput } from "../src/model/evidence";
import type { KindName, Summary } from "../src/model/health";
import { phrasesText } from "../src/model/phrase";

type Counts = Partial<Record<KindName, number>>;

function summary(counts: Counts, size = 1000): Summary {
  const whole = { negInf: 0, negative: 0, zero: 0, positive: 0, posInf: 0, nan: 0, ...counts };
  return { dtype: "float32", size, counts: whole, bad: whole.negInf + whole.posInf + whole.nan > 0 };
}

function input(name: string, counts: Counts, size?: number): CauseInput {
  return { name, summary: summary(counts, size) };
}

function words(opType: string, output: Counts, inputs: readonly CauseInput[], more: Partial<Suspect> = {}) {
  const suspect = {
    opType,
    opName: "scope/op",
    slot: 0,
    functionName: "loss",
    output: summary(output),
    inputs,
    ...more,
  };
  const { what, why, help } = diagnose(suspect);
  return { what: phrasesText(what), why: phrasesText(why), help };
}

describe("the first bad value", () => {
  test("is the log of a zero, said in two sentences", () => {
    const { what, why, help } = words(
      "Log",
      { negInf: 200, negative: 800 },
      [input("probs:0", { zero: 200, positive: 800 })],
      { opName: "Log" },
    );
    expect(what).toBe("Log (tensor Log:0 in function loss) produced 200 −∞ out of 1,000 values.");
    expect(why).toBe("Its input probs:0 held 200 zeros: the logarithm of 0 is −∞.");
    expect(help).toContain("argument of the log");
  });

  test("of one value is called its only one", () => {
    expect(
      words("Mean", { nan: 1 }, [], { output: summary({ nan: 1 }, 1), functionName: undefined }).what,
    ).toBe("Mean (tensor scope/op:0) produced NaN, its only value.");
  });

  test("of an eager op has no tensor name", () => {
    expect(words("__inference_f_3", { nan: 2 }, [], { opName: undefined }).what).toBe(
      "f (run eagerly) produced 2 NaN out of 1,000 values.",
    );
  });

  test("without counts is still said", () => {
    expect(words("Log", {}, [], { output: { counts: {}, bad: true } }).what).toContain("produced NaN or ∞.");
  });
});

describe("the reason", () => {
  test.each([
    [
      "Log",
      { nan: 3 },
      [input("x:0", { negative: 3 })],
      "Its input x:0 held 3 negative values: the logarithm of a negative number is NaN.",
    ],
    [
      "RealDiv",
      { posInf: 1 },
      [input("a:0", { positive: 9 }), input("b:0", { zero: 1 })],
      "Its input b:0 held 1 zero: x / 0 is infinite.",
    ],
    ["Rsqrt", { posInf: 1 }, [input("v:0", { zero: 1 })], "Its input v:0 held 1 zero: 1 / √0 is infinite."],
    [
      "Sqrt",
      { nan: 1 },
      [input("v:0", { negative: 1 })],
      "Its input v:0 held 1 negative value: the root of a negative number is NaN.",
    ],
    [
      "Exp",
      { posInf: 4 },
      [input("z:0", { positive: 4 })],
      "Its input was finite. Its result is beyond the range of the dtype.",
    ],
    [
      "MatMul",
      { posInf: 4 },
      [input("a:0", { positive: 4 }), input("b:0", { positive: 4 })],
      "Its inputs were all finite. Its result is beyond the range of the dtype.",
    ],
    [
      "Mean",
      { nan: 1 },
      [input("x:0", {}, 0)],
      "Its input x:0 held no value at all: the mean over nothing is NaN.",
    ],
    ["Placeholder", { nan: 1 }, [], "It is an argument: whoever called the function handed it in."],
    ["ReadVariableOp", { nan: 1 }, [], "The variable held it already: see the op that assigned it last."],
  ] as const)("for %s", (opType, output, inputs, why) => {
    expect(words(opType, output, inputs).why).toBe(why);
  });

  test("is the input that was bad already, before any property of the op", () => {
    expect(words("Log", { nan: 1 }, [input("x:0", { nan: 1, zero: 5 })]).why).toBe(
      "Its input x:0 already held 1 NaN.",
    );
  });

  test("is what infinities turn into when they meet", () => {
    expect(
      words("Mul", { nan: 178, posInf: 22 }, [input("y:0", { zero: 900 }), input("Log:0", { negInf: 200 })])
        .why,
    ).toBe("Its input Log:0 already held 200 −∞ and its input y:0 held 900 zeros: 0 · ∞ is NaN.");
    expect(words("Softmax", { nan: 10 }, [input("mask:0", { negInf: 10 })]).why).toContain(
      "a row of nothing but −∞",
    );
  });

  test("is a possible one where what went in was not measured, and only one for the kind that came out", () => {
    const unmeasured: CauseInput = { name: "x:0", summary: undefined };
    const { why, help } = words("Log", { negInf: 1 }, [unmeasured]);
    expect(why).toBe("What went into it was not measured. Possible reason: the logarithm of 0 is −∞.");
    expect(help).toContain("Clip");
    expect(words("Mul", { nan: 1 }, [input("a:0", { posInf: 1 }), unmeasured]).why).toBe(
      "Its input a:0 already held 1 +∞. Possible reason: 0 · ∞ is NaN.",
    );
    expect(words("AddV2", { posInf: 1 }, [input("a:0", { positive: 1 }), unmeasured]).why).toBe(
      "Some of what went into it was not measured. Possible reason: its result is beyond the range of the dtype.",
    );
  });

  test("is a possible one where of what came out only is known that it was bad", () => {
    const finite: CauseInput = { name: "x:0", summary: { counts: {}, bad: false } };
    const curt = { output: { counts: {}, bad: true } };
    expect(words("Log", {}, [finite], curt).why).toBe(
      "Its input was finite. Possible reasons: the logarithm of 0 is −∞; the logarithm of a negative number is NaN.",
    );
    expect(words("Acos", {}, [finite], curt).why).toBe(
      "Its input was finite. Possible reason: it is defined only between −1 and 1.",
    );
    expect(words("Placeholder", {}, [], curt).why).toContain("It is an argument");
    expect(words("MyOp", {}, [finite], curt).why).toBe("Its input was finite. ");
  });

  test("is that of the kind that came out", () => {
    const base = input("x:0", { negative: 500, positive: 500 });
    const two = input("y:0", { positive: 1 }, 1);
    expect(words("Pow", { posInf: 1000 }, [base, two]).why).toBe(
      "Its inputs were all finite. Its result is beyond the range of the dtype.",
    );
    expect(words("Pow", { nan: 500 }, [base, two]).why).toBe(
      "Its input x:0 held 500 negative values: a fractional power of a negative number is NaN.",
    );
    const [over, under] = [
      input("a:0", { zero: 4, positive: 996 }),
      input("b:0", { zero: 4, positive: 996 }),
    ];
    expect(words("RealDiv", { nan: 4 }, [over, under]).why).toBe(
      "Its input a:0 held 4 zeros and its input b:0 held 4 zeros: 0 / 0 is NaN.",
    );
    expect(words("RealDiv", { posInf: 4 }, [over, under]).why).toBe(
      "Its input b:0 held 4 zeros: x / 0 is infinite.",
    );
    expect(words("RealDiv", { posInf: 3, nan: 1 }, [over, under]).why).toBe(
      "Its input b:0 held 4 zeros: x / 0 is infinite. Its input a:0 held 4 zeros and its input b:0 held 4 zeros: 0 / 0 is NaN.",
    );
  });

  test("counts whole numbers as finite, of which nothing is measured", () => {
    const axis: CauseInput = { name: "axis:0", summary: { counts: {}, dtype: "int32" } };
    expect(words("Cast", { posInf: 1 }, [axis]).why).toContain("beyond the range of the narrower dtype");
    expect(
      words("Sum", { posInf: 1 }, [input("x:0", { positive: 9 }), { name: "axis", summary: undefined }]).why,
    ).toContain("Its result is beyond the range");
  });

  test("is not made up for an op that nothing is known of", () => {
    expect(words("MyOp", { nan: 1 }, [input("x:0", { positive: 3 })]).why).toBe("Its input was finite. ");
    expect(words("MyOp", { nan: 1 }, [{ name: "x:0", summary: undefined }]).why).toBe(
      "What went into it was not measured.",
    );
    expect(words("MyOp", { nan: 1 }, []).why).toBe("MyOp has no input: the value comes from here.");
  });
});
