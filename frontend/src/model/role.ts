/** The role of a tensor: what it is to the model, such as the gradient of a variable or a part of a layer. */

export interface Role {
  /** "encoder/dense_1" */
  readonly layer: string | undefined;
  /** "dense_1/kernel": the variable that the op is, reads or assigns. */
  readonly variable: string | undefined;
  /** The variables whose gradient the tensor is. */
  readonly gradientOf: readonly string[];
}

/** The scopes in which TensorFlow creates the ops of gradients, also inside scopes of the program. */
const BACKWARD =
  /^(?:gradient_tape|gradients(?:_\d+)?)\/|\/gradients(?:_\d+)?\/(?:.*_grad(?:_\d+)?\/|AddN(?:_\d+)?$|grad_ys_\d+$)/;

export function isBackward(opName: string): boolean {
  return BACKWARD.test(opName);
}

/** The role from the fields of an answer. */
export function roleOf(
  wire: { readonly layer?: string | undefined; readonly variable?: string | undefined },
  gradientOf: readonly string[] = [],
): Role {
  return { layer: wire.layer, variable: wire.variable, gradientOf };
}

/**
 * "gradient of dense_1/kernel", "variable dense_1/kernel", "layer dense_1" or "backward pass of dense_1": the
 * most specific that is known.
 */
export function roleWords(opName: string, role: Role): string | undefined {
  const { layer, variable, gradientOf } = role;
  if (gradientOf.length > 0) return `gradient of ${gradientOf.join(" and ")}`;
  if (variable !== undefined) return `variable ${variable}`;
  if (layer === undefined) return undefined;
  return isBackward(opName) ? `backward pass of ${layer}` : `layer ${layer}`;
}

/** Short words for narrow places: "∇ dense_1/kernel", "dense_1/kernel"; undefined for a layer. */
export function roleMark({ variable, gradientOf }: Role): string | undefined {
  return gradientOf.length > 0 ? `∇ ${gradientOf.join(", ")}` : variable;
}
