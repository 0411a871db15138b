/** What a tensor is to the program: the gradient of a variable, a variable, part of a layer. */

export interface Role {
  /** "encoder/dense_1" */
  readonly layer: string | undefined;
  /** "dense_1/kernel": what the op stands for, reads or assigns. */
  readonly variable: string | undefined;
  /** The variables whose gradient the tensor is. */
  readonly gradientOf: readonly string[];
}

export const NO_ROLE: Role = { layer: undefined, variable: undefined, gradientOf: [] };

/** TensorFlow puts these scopes before the names of the ops of a gradient. */
const BACKWARD = /^(?:gradient_tape|gradients)\//;

export function isBackward(opName: string): boolean {
  return BACKWARD.test(opName);
}

/** What stands for the names of an op as the server gives them. */
export function roleOf(
  wire: { readonly layer?: string | undefined; readonly variable?: string | undefined },
  gradientOf: readonly string[] = [],
): Role {
  return { layer: wire.layer, variable: wire.variable, gradientOf };
}

/** "gradient of dense_1/kernel", "variable dense_1/kernel", "layer dense_1", "backward pass of dense_1"; the closest one. */
export function roleWords(opName: string, role: Role): string | undefined {
  const { layer, variable, gradientOf } = role;
  if (gradientOf.length > 0) return `gradient of ${gradientOf.join(" and ")}`;
  if (variable !== undefined) return `variable ${variable}`;
  if (layer === undefined) return undefined;
  return isBackward(opName) ? `backward pass of ${layer}` : `layer ${layer}`;
}

/** Short, where there is little room: "∇ dense_1/kernel", "dense_1/kernel"; nothing of a layer. */
export function roleMark({ variable, gradientOf }: Role): string | undefined {
  return gradientOf.length > 0 ? `∇ ${gradientOf.join(", ")}` : variable;
}
