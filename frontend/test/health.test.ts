import { describe, expect, test } from "vitest";
import {
  badWords,
  fromWire,
  isBad,
  KINDS,
  numericsWords,
  type Summary,
  shares,
  summaryWords,
} from "../src/model/health";
import { random } from "./random";

const LOG: Summary = {
  dtype: "float32",
  shape: "[100, 10]",
  size: 1000,
  counts: { neg_inf: 200, negative: 796, zero: 4, positive: 0, pos_inf: 0, nan: 0 },
  bad: true,
};

describe("the health of a tensor", () => {
  test("reads in words, the kinds in the order of the table", () => {
    expect(badWords(LOG)).toBe("200 −∞");
    expect(summaryWords(LOG)).toBe("float32 [100, 10] · 1,000 values · 200 −∞, 796 −, 4 0");
  });

  test("reads with the numbers of the finite values where they were measured", () => {
    const numerics = { min: -2.5, max: 1e30, mean: 1 / 3, variance: undefined };
    expect(summaryWords({ ...LOG, numerics })).toBe(
      `${summaryWords(LOG)} · min −2.5 · max 1e+30 · mean 0.3333`,
    );
    expect(numericsWords(LOG)).toEqual([]);
  });

  test("is bad without counts in a mode that has none", () => {
    const curt: Summary = { counts: {}, bad: true };
    expect(isBad(curt)).toBe(true);
    expect(badWords(curt)).toBe("NaN or ∞");
    expect(summaryWords(curt)).toBe("has NaN or ∞");
  });

  test("is not known when it was not measured", () => {
    expect(isBad(undefined)).toBe(false);
    expect(summaryWords({ counts: {} })).toBe("");
    expect(fromWire(undefined)).toBeUndefined();
  });
});

describe("the bar", () => {
  test("shows every bad kind that occurs, however few, and never more than the whole", () => {
    const pick = random(17);
    for (let i = 0; i < 500; i++) {
      const counts = Object.fromEntries(
        KINDS.map(({ name }) => [name, pick(4) === 0 ? pick(10 ** (1 + pick(7))) : 0]),
      );
      const parts = shares({ counts });
      const shown = parts.filter(({ share }) => share > 0.01).map(({ name }) => name);
      for (const { name, bad } of KINDS) if (bad && (counts[name] ?? 0) > 0) expect(shown).toContain(name);
      expect(parts.reduce((sum, { share }) => sum + share, 0)).toBeLessThanOrEqual(1 + 1e-9);
    }
  });

  test("is in proportion where nothing is too small to see", () => {
    expect(shares(LOG)).toEqual([
      { name: "neg_inf", share: 0.2 },
      { name: "negative", share: 0.796 },
      { name: "zero", share: 0.004 },
    ]);
  });

  test("is empty for an empty tensor", () => {
    expect(shares({ size: 0, counts: { nan: 0 } })).toEqual([]);
  });
});
