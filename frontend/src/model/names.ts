/** Names of TensorFlow, as the page shows them. */

const DTYPES: Readonly<Record<number, string>> = {
  1: "float32",
  2: "float64",
  3: "int32",
  4: "uint8",
  5: "int16",
  6: "int8",
  7: "string",
  8: "complex64",
  9: "int64",
  10: "bool",
  11: "qint8",
  12: "quint8",
  13: "qint32",
  14: "bfloat16",
  15: "qint16",
  16: "quint16",
  17: "uint16",
  18: "complex128",
  19: "float16",
  20: "resource",
  21: "variant",
  22: "uint32",
  23: "uint64",
  24: "float8_e5m2",
  25: "float8_e4m3fn",
  29: "int4",
  30: "uint4",
};

/** Name of a value of TensorFlow's DataType enum; undefined for 0 and for unknown values. */
export function dtypeName(dataType: number | undefined): string | undefined {
  // Reference types have the same names and numbers above 100.
  return dataType === undefined ? undefined : DTYPES[dataType > 100 ? dataType - 100 : dataType];
}

const CALL_PREFIX = /^__(?:inference|forward)_(?=.)/;
const BACKWARD_PREFIX = /^__backward_(?=.)/;

/** True for the op type of a call of a function: TensorFlow begins their names with two underscores. */
export function isFunctionName(opType: string): boolean {
  return opType.startsWith("__");
}

/**
 * "__inference_train_step_1234" -> "train_step". The gradient of a function,
 * "__inference___backward_loss_57", becomes "∇loss". Other names stay as they are.
 */
export function displayName(opType: string): string {
  const called = opType.replace(CALL_PREFIX, "");
  const name = called.replace(BACKWARD_PREFIX, "");
  if (name === opType) return opType;
  const bare = name.replace(/(_\d+)+$/, "") || name;
  return name === called ? bare : `∇${bare}`;
}

/** The letter in a box of the timeline. */
export function initial(opType: string): string {
  const letters = [...displayName(opType)];
  return letters.find((letter) => /[\p{L}\p{N}]/u.test(letter)) ?? letters[0] ?? "?";
}

/** "scope/loss/Log", 0 -> "scope/loss/Log:0". */
export function tensorName(opName: string, slot: number): string {
  return `${opName}:${slot}`;
}

/** [32, undefined] -> "[32, ?]". */
export function shapeText(dims: readonly (number | undefined)[]): string {
  return `[${dims.map((dim) => (dim === undefined || dim < 0 ? "?" : dim)).join(", ")}]`;
}

/** "/job:localhost/replica:0/task:0/device:CPU:0" -> "CPU:0". */
export function shortDevice(name: string | undefined): string | undefined {
  return name?.replace(/^.*device:/, "");
}
