/** An op with its inputs and consumers, as three columns of cards with curves between them. */
import type { ExecutionData, Forward, Op, OpConsumer, OpInfo, OpInput, WireTarget } from "../api/answers";
import type { ValueRef } from "../api/values";
import { type ExecutionIndex, executionIndex, type GraphExecutionIndex, type GraphId } from "../base/ids";
import { fromWire, NOTHING_KNOWN, type Summary } from "./health";
import { shapeText, tensorName } from "./names";
import { type Role, roleMark, roleOf, roleWords } from "./role";
import { mayHoldValue, refOf } from "./values/value_ref";

/** The destination of a click on a card or a link. */
export type Target =
  | {
      readonly kind: "op";
      readonly graph: GraphId;
      readonly opName: string;
      readonly graphExecution: GraphExecutionIndex | undefined;
    }
  | { readonly kind: "execution"; readonly index: ExecutionIndex }
  | { readonly kind: "nowhere" };

export interface Card {
  readonly key: string;
  /** "probs:0", or the op type of an eager op. */
  readonly title: string;
  /** Undefined when the op was not recorded. */
  readonly opType: string | undefined;
  /** For an input: the input slot of the op. For a consumer: the output slot that it takes. */
  readonly slot: number;
  /** For a consumer: its input slot. */
  readonly takenAs?: number;
  readonly summary: Summary | undefined;
  /** "∇ dense_1/kernel" */
  readonly mark?: string | undefined;
  /** "gradient of dense_1/kernel", "layer dense_1" */
  readonly role?: string | undefined;
  /** "probs:0": the tensor that the op passes on and whose numbers are shown. */
  readonly same?: string | undefined;
  /** Shown in place of the numbers when there can be none. */
  readonly note?: string;
  readonly target: Target;
  /** The value whose numbers are shown, if its elements may be on record. */
  readonly value?: ValueRef | undefined;
}

export interface Neighbourhood {
  /** Each op and execution has its own picture, which begins at its top with the first cards. */
  readonly key: string;
  readonly opName: string | undefined;
  readonly opType: string;
  readonly device: string | undefined;
  /** "gradient of dense_1/kernel", "layer dense_1" */
  readonly role: string | undefined;
  /** The op whose gradient it is part of. */
  readonly forward: Forward | undefined;
  /** The graphs that it runs. */
  readonly runs: readonly { readonly graph: GraphId; readonly name: string }[];
  readonly outputs: readonly Summary[];
  /** "probs:0": the tensor that the op passes on and whose numbers are shown. */
  readonly same: string | undefined;
  readonly inputs: readonly Card[];
  /** `slot` is the output slot that the consumer takes. */
  readonly consumers: readonly Card[];
  /** False for eager ops, whose consumers are not recorded. */
  readonly consumersKnown: boolean;
}

/** Ops that are arguments of their graph: their inputs are those of the caller. */
const ARGUMENTS = new Set(["Placeholder", "PlaceholderWithDefault", "_Arg", "Arg"]);

/** `caller` is the execution that the graph ran in; undefined when it is not known. */
export function ofGraphOp(info: OpInfo, graph: GraphId, caller: ExecutionIndex | undefined): Neighbourhood {
  const inputs = info.inputs.map((input, slot) => inputCard(input, slot, graph));
  const passed = passedInput(info, inputs[0]);
  const outputs = outputsOf(info, passed?.summary);
  const same = passed && (passed.same ?? passed.title);
  const isArgument = inputs.length === 0 && ARGUMENTS.has(info.op_type);
  return {
    key: `${graph} ${info.op_name}`,
    opName: info.op_name,
    opType: info.op_type,
    device: info.device_name,
    role: roleWords(info.op_name, roleOfOutput(info)),
    forward: info.forward,
    runs: info.runs.map(({ graph_id, graph_name }) => ({ graph: graph_id, name: graph_name ?? graph_id })),
    outputs,
    same,
    inputs: isArgument && caller !== undefined ? [callerCard(caller)] : inputs,
    consumers: info.consumers.flatMap((takers, slot) => {
      const output = { slot, summary: outputs[slot], name: same ?? tensorName(info.op_name, slot) };
      return takers.map((taker, i) => consumerCard(taker, `c${slot}.${i}`, output, graph));
    }),
    consumersKnown: true,
  };
}

function inputCard(input: OpInput, slot: number, graph: GraphId): Card {
  const { data, op_name, output_slot, same } = input;
  return {
    ...opPart(data, op_name, output_slot, inputSummary(input), graph),
    key: `i${slot}`,
    title: tensorName(op_name, output_slot),
    slot,
    same: same && tensorName(same.op_name, same.output_slot),
  };
}

/** An output of the op in the middle; `name` is of the tensor whose numbers a consumer may pass on. */
interface TakenOutput {
  readonly slot: number;
  readonly summary: Summary | undefined;
  readonly name: string;
}

function consumerCard(taker: OpConsumer, key: string, output: TakenOutput, graph: GraphId): Card {
  const { data, op_name, input_slot } = taker;
  const own = data && outputSummary(data, 0);
  const passed = data?.passes_on && output.summary?.bad !== undefined ? output.summary : undefined;
  const summary = passed === undefined ? own : passedOn(own ?? NOTHING_KNOWN, passed);
  return {
    ...opPart(data, op_name, 0, summary, graph),
    key,
    title: op_name,
    slot: output.slot,
    takenAs: input_slot,
    same: passed && output.name,
  };
}

/** What the card of an input has in common with that of a consumer. */
function opPart(
  op: Op | undefined,
  opName: string,
  output: number,
  summary: Summary | undefined,
  graph: GraphId,
) {
  const target: Target =
    op === undefined
      ? { kind: "nowhere" }
      : { kind: "op", graph, opName, graphExecution: summary?.graphExecution };
  return {
    opType: op?.op_type,
    summary,
    mark: op && roleMark(roleOfOutput(op, output)),
    role: op && roleWords(op.op_name, roleOfOutput(op, output)),
    target,
    value: refOf(summary),
  };
}

/** The first input, if the op only passes it on. */
function passedInput(info: OpInfo, first: Card | undefined): Card | undefined {
  return info.passes_on && first?.summary !== undefined ? first : undefined;
}

/** One summary for each output; the first is `passed`, if there is one. */
function outputsOf(info: OpInfo, passed: Summary | undefined): readonly Summary[] {
  const n = Math.max(info.num_outputs ?? 0, info.outputs.length);
  return Array.from({ length: n }, (_, slot) => {
    const own = outputSummary(info, slot);
    return slot === 0 && passed !== undefined ? passedOn(own, passed) : own;
  });
}

export function forwardTarget(forward: Forward): Target {
  const { graph_id, op_name, graph_execution_index } = forward;
  return { kind: "op", graph: graph_id, opName: op_name, graphExecution: graph_execution_index };
}

export function linkTarget(wire: WireTarget | undefined): Target {
  if (wire === undefined) return { kind: "nowhere" };
  const {
    graph_id: graph,
    op_name: opName,
    graph_execution_index: graphExecution,
    execution_index: index,
  } = wire;
  if (graph !== undefined && opName !== undefined) return { kind: "op", graph, opName, graphExecution };
  return index === undefined ? { kind: "nowhere" } : { kind: "execution", index };
}

/** The role of one output of an op, or of all outputs. */
function roleOfOutput(op: Omit<Op, "inputs">, slot?: number): Role {
  const outputs = slot === undefined ? op.outputs : op.outputs.slice(slot, slot + 1);
  return roleOf(
    op,
    outputs.flatMap((output) => output.gradient_of),
  );
}

function callerCard(caller: ExecutionIndex): Card {
  return {
    key: "caller",
    title: `#${caller}`,
    opType: "call",
    slot: 0,
    summary: undefined,
    note: "passed it as an argument",
    target: { kind: "execution", index: caller },
  };
}

export function ofExecution(data: ExecutionData): Neighbourhood {
  return {
    key: `#${data.index}`,
    opName: undefined,
    opType: data.op_type,
    device: data.device_names.find((name) => name !== undefined),
    role: undefined,
    forward: undefined,
    runs: [],
    outputs: outputSummaries(data),
    same: undefined,
    inputs: data.inputs.map(makerCard),
    consumers: [],
    consumersKnown: false,
  };
}

/** The eager op that made an input. */
function makerCard(input: ExecutionData["inputs"][number], slot: number): Card {
  const index = input.execution_index;
  const summary = fromWire(input.health);
  const isKept = index !== undefined && mayHoldValue(summary);
  return {
    key: `i${slot}`,
    title: index === undefined ? `tensor ${input.tensor_id ?? "?"}` : `#${index}:${input.output_slot ?? 0}`,
    opType: input.op_type,
    slot,
    summary,
    value: isKept ? { kind: "execution", index, slot: input.output_slot ?? 0 } : undefined,
    target: index === undefined ? { kind: "nowhere" } : { kind: "execution", index: executionIndex(index) },
  };
}

/** The inputs of an execution of which something is on record, by slot, and the slots of the others. */
export function knownInputs(inputs: ExecutionData["inputs"]): {
  readonly known: readonly (readonly [number, ExecutionData["inputs"][number]])[];
  readonly unknown: readonly number[];
} {
  const numbered = inputs.map((input, slot) => [slot, input] as const);
  const isKnown = ({ execution_index, health }: ExecutionData["inputs"][number]) =>
    execution_index !== undefined || health !== undefined;
  return {
    known: numbered.filter(([, input]) => isKnown(input)),
    unknown: numbered.filter(([, input]) => !isKnown(input)).map(([slot]) => slot),
  };
}

/** Slots in ascending order as text: ":0 – :3, :7". */
export function slotRanges(slots: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const slot of slots) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] + 1 === slot) last[1] = slot;
    else ranges.push([slot, slot]);
  }
  return ranges.map(([first, last]) => (first === last ? `:${first}` : `:${first} – :${last}`)).join(", ");
}

/** One summary for each output, known or not. */
export function outputSummaries(data: ExecutionData): readonly Summary[] {
  const n = Math.max(data.output_tensor_ids.length, data.outputs.length);
  return Array.from({ length: n }, (_, i) => fromWire(data.outputs[i]) ?? NOTHING_KNOWN);
}

/** The measured summary of an output, completed by the dtype and shape in the graph. */
function outputSummary(op: Op, slot: number): Summary {
  const output = op.outputs[slot];
  const measured = fromWire(output?.health) ?? NOTHING_KNOWN;
  const built = output?.shape === undefined ? undefined : shapeText(output.shape);
  return { ...measured, dtype: measured.dtype ?? output?.dtype, shape: measured.shape ?? built };
}

/** The summary of an input, or of the output that it passes on. */
function inputSummary({ data, output_slot, same }: OpInput): Summary | undefined {
  if (data === undefined) return undefined;
  const own = outputSummary(data, output_slot);
  return same?.data === undefined ? own : passedOn(own, outputSummary(same.data, same.output_slot));
}

/** The summary of an op that passes on `from`; it has no graph execution of its own. */
function passedOn(own: Summary, from: Summary): Summary {
  return {
    ...from,
    dtype: own.dtype ?? from.dtype,
    shape: from.shape ?? own.shape,
    graphExecution: undefined,
  };
}
