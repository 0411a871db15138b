/** Ops that hand their input on as it is: they are not measured, but the numbers of what they pass on are theirs. */
import type { Op, OpInfo, OpInput } from "../api/answers";
import { fromWire, NOTHING_KNOWN, type Summary } from "./health";
import { shapeText } from "./names";

const PASSING_ON: ReadonlySet<string> = new Set(["Identity"]);

/** An input, and where it only passes on what another op made, that one. */
export type InputSeen = OpInput & { readonly same?: OpInput | undefined };

export type OpSeen = Omit<OpInfo, "inputs"> & { readonly inputs: readonly InputSeen[] };

/** What was measured of an output, and what the graph says of it where nothing was. */
export function outputSummary(op: Op, slot: number): Summary {
  const output = op.outputs[slot];
  const measured = fromWire(output?.health) ?? NOTHING_KNOWN;
  const built = output?.shape === undefined ? undefined : shapeText(output.shape);
  return { ...measured, dtype: measured.dtype ?? output?.dtype, shape: measured.shape ?? built };
}

/** True where the numbers must be looked for at the op before. */
export function isPassedOn(op: Op | undefined, slot: number): op is Op {
  return op !== undefined && PASSING_ON.has(op.op_type) && outputSummary(op, slot).bad === undefined;
}

/** Of an input, or of what it passes on. */
export function inputSummary({ data, output_slot, same }: InputSeen): Summary | undefined {
  if (data === undefined) return undefined;
  const own = outputSummary(data, output_slot);
  return same?.data === undefined ? own : passedOn(own, outputSummary(same.data, same.output_slot));
}

/** The numbers of the one for the other; they are not from a trace of its own. */
export function passedOn(own: Summary, from: Summary): Summary {
  return { ...from, dtype: own.dtype ?? from.dtype, shape: from.shape ?? own.shape, trace: undefined };
}
