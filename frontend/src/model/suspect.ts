/** From what the server says of a bad tensor to what the diagnosis needs to know. */
import type { Alert, ExecutionData } from "../api/answers";
import { belongingOf } from "./belonging";
import { type Diagnosis, diagnose, type Suspect } from "./diagnosis";
import type { CauseInput } from "./evidence";
import { fromWire, isBad, type Summary } from "./health";
import { displayName, tensorName } from "./names";
import { type Neighbourhood, outputSummaries } from "./neighbourhood";
import { inputSummary, type OpSeen } from "./passed_on";

/** Ops whose infinities the program wrote, as a mask before a softmax. */
const WRITTEN: ReadonlySet<string> = new Set(["Const"]);

/**
 * Which alert to begin with, of those in front. Where that is an infinity which the program wrote, it most likely meant it,
 * and the first NaN is what is looked for.
 */
export function leadingAlert(alerts: readonly Alert[]): number {
  const [first] = alerts;
  if (first === undefined || !WRITTEN.has(first.op_type) || (first.num_nan ?? 0) > 0) return 0;
  return Math.max(
    0,
    alerts.findIndex(({ num_nan }) => (num_nan ?? 0) > 0),
  );
}

/** When nothing but the alert is known. */
export function fromAlert(alert: Alert): Suspect {
  return {
    opType: alert.op_type,
    opName: alert.op_name,
    slot: alert.output_slot,
    functionName: alert.graph_name === undefined ? undefined : displayName(alert.graph_name),
    belonging: belongingOf(alert, alert.gradient_of),
    output: alertSummary(alert),
    inputs: [],
  };
}

export function suspectOfOp(alert: Alert, info: OpSeen): Suspect {
  const inputs = info.inputs.map(
    (input): CauseInput => ({
      name: tensorName(input.op_name, input.output_slot),
      summary: inputSummary(input),
    }),
  );
  const dtype = info.outputs[alert.output_slot]?.dtype;
  return { ...fromAlert(alert), inputs, output: { ...alertSummary(alert), dtype } };
}

export function suspectOfExecution(alert: Alert, data: ExecutionData): Suspect {
  const inputs = data.inputs.map((input, slot): CauseInput => {
    const name =
      input.op_type === undefined ? `number ${slot + 1}` : `${input.op_type}:${input.output_slot ?? 0}`;
    return { name, summary: fromWire(input.health) };
  });
  const dtype = outputSummaries(data)[alert.output_slot]?.dtype;
  return { ...fromAlert(alert), inputs, output: { ...alertSummary(alert), dtype } };
}

export function alertSummary(alert: Alert): Summary {
  const counts = { negInf: alert.num_neg_inf, posInf: alert.num_pos_inf, nan: alert.num_nan };
  return { size: alert.size, counts, bad: true };
}

/** The same words for the op in the middle of the graph structure, when one of its outputs is bad. */
export function explainOp(op: Neighbourhood): Diagnosis | undefined {
  const slot = op.outputs.findIndex(isBad);
  const output = op.outputs[slot];
  if (output === undefined) return undefined;
  const inputs = op.inputs.map(({ title, summary }): CauseInput => ({ name: title, summary }));
  return diagnose({ opType: op.opType, opName: op.opName, slot, functionName: undefined, output, inputs });
}
