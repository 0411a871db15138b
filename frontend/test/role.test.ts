import { expect, test } from "vitest";
import { isBackward, type Role, roleWords } from "../src/model/role";

const NO_ROLE: Role = { layer: undefined, variable: undefined, gradientOf: [] };

const of = (more: Partial<Role>): Role => ({ ...NO_ROLE, ...more });

test.each([
  [of({ layer: "dense", gradientOf: ["dense/kernel"] }), "gradient of dense/kernel"],
  [of({ gradientOf: ["a/bias", "b/bias"] }), "gradient of a/bias and b/bias"],
  [of({ layer: "dense", variable: "dense/kernel" }), "variable dense/kernel"],
  [of({ layer: "dense" }), "backward pass of dense"],
  [NO_ROLE, undefined],
])("the closest thing is named", (role, words) => {
  expect(roleWords("gradient_tape/functional_1/dense_1/MatMul", role)).toBe(words);
});

test("only the ops of a gradient are of the backward pass", () => {
  expect(roleWords("functional_1/dense_1/MatMul", of({ layer: "dense" }))).toBe("layer dense");
  expect(roleWords("gradients/dense_1/MatMul_grad/MatMul", of({ layer: "dense" }))).toBe(
    "backward pass of dense",
  );
  expect(isBackward("train/gradients_1/dense_1/MatMul_grad/MatMul")).toBe(true);
  expect(isBackward("plots/gradients/mean")).toBe(false);
});
