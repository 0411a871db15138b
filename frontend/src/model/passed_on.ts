/** Ops that return their input unchanged. They are not measured; they have the numbers of their input. */
import type { Op, OpInfo, OpInput } from "../api/answers";
import { fromWire, NOTHING_KNOWN, type Summary } from "./health";
import { shapeText } from "./names";

const PASSING_ON: ReadonlySet<string> = new Set(["Identity"]);

/** An input and, if it only passes on the output of another op, that output. */
export type InputSeen = OpInput & { readonly same?: OpInput | undefined };

export type OpSeen = Omit<OpInfo, "inputs"> & { readonly inputs: readonly InputSeen[] };

/** The measured summary of an output, completed by the dtype and shape in the graph. */
export function outputSummary(op: Op, slot: number): Summary {
  const output = op.outputs[slot];
  const measured = fromWire(output?.health) ?? NOTHING_KNOWN;
  const built = output?.shape === undefined ? undefined : shapeText(output.shape);
  return { ...measured, dtype: measured.dtype ?? output?.dtype, shape: measured.shape ?? built };
}

/** Whether the numbers of an output are those of the op's input. */
export function isPassedOn(op: Op | undefined, slot: number): op is Op {
  return op !== undefined && PASSING_ON.has(op.op_type) && outputSummary(op, slot).bad === undefined;
}

/** The summary of an input, or of the output that it passes on. */
export function inputSummary({ data, output_slot, same }: InputSeen): Summary | undefined {
  if (data === undefined) return undefined;
  const own = outputSummary(data, output_slot);
  return same?.data === undefined ? own : passedOn(own, outputSummary(same.data, same.output_slot));
}

/** The summary of an op that passes on `from`; it has no graph execution of its own. */
export function passedOn(own: Summary, from: Summary): Summary {
  return { ...from, dtype: own.dtype ?? from.dtype, shape: from.shape ?? own.shape, trace: undefined };
}
