import { expect, test } from "vitest";
import { type Belonging, belongingWords, NO_BELONGING } from "../src/model/belonging";

const of = (more: Partial<Belonging>): Belonging => ({ ...NO_BELONGING, ...more });

test.each([
  [of({ layer: "dense", gradientOf: ["dense/kernel"] }), "gradient of dense/kernel"],
  [of({ gradientOf: ["a/bias", "b/bias"] }), "gradient of a/bias and b/bias"],
  [of({ layer: "dense", variable: "dense/kernel" }), "variable dense/kernel"],
  [of({ layer: "dense" }), "backward pass of dense"],
  [NO_BELONGING, undefined],
])("the closest thing is named", (belonging, words) => {
  expect(belongingWords("gradient_tape/functional_1/dense_1/MatMul", belonging)).toBe(words);
});

test("only the ops of a gradient are of the backward pass", () => {
  expect(belongingWords("functional_1/dense_1/MatMul", of({ layer: "dense" }))).toBe("layer dense");
  expect(belongingWords("gradients/dense_1/MatMul_grad/MatMul", of({ layer: "dense" }))).toBe(
    "backward pass of dense",
  );
});
