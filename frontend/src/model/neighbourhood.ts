/** An op with its inputs and consumers, as three columns of cards with curves between them. */
import type { ExecutionData, Forward, Op, WireTarget } from "../api/answers";
import { type ExecutionIndex, executionIndex, type GraphExecutionIndex, type GraphId } from "../base/ids";
import { fromWire, NOTHING_KNOWN, type Summary } from "./health";
import { tensorName } from "./names";
import { inputSummary, isPassedOn, type OpSeen, outputSummary, passedOn } from "./passed_on";
import { type Role, roleMark, roleOf, roleWords } from "./role";

/** The destination of a click on a card or a link. */
export type Target =
  | {
      readonly kind: "op";
      readonly graph: GraphId;
      readonly opName: string;
      readonly trace: GraphExecutionIndex | undefined;
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
}

export interface Neighbourhood {
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
export function ofGraphOp(info: OpSeen, graph: GraphId, caller: ExecutionIndex | undefined): Neighbourhood {
  const card = (op: Op | undefined, opName: string, output: number, summary: Summary | undefined) => ({
    opType: op?.op_type,
    summary,
    mark: op && roleMark(roleOfOutput(op, output)),
    role: op && roleWords(op.op_name, roleOfOutput(op, output)),
    target:
      op === undefined
        ? ({ kind: "nowhere" } as const)
        : ({ kind: "op", graph, opName, trace: summary?.trace } as const),
  });
  const inputs = info.inputs.map((input, slot): Card => {
    const { data, op_name, output_slot, same } = input;
    return {
      ...card(data, op_name, output_slot, inputSummary(input)),
      key: `i${slot}`,
      title: tensorName(op_name, output_slot),
      slot,
      same: same && tensorName(same.op_name, same.output_slot),
    };
  });
  const [first] = inputs;
  const isPassing = isPassedOn(info, 0) && first?.summary !== undefined;
  const outputs = Array.from({ length: Math.max(info.num_outputs ?? 0, info.outputs.length) }, (_, slot) => {
    const own = outputSummary(info, slot);
    return slot === 0 && isPassing ? passedOn(own, first.summary ?? own) : own;
  });
  const same = isPassing ? (first.same ?? first.title) : undefined;
  const consumers = info.consumers.flatMap((takers, slot) =>
    takers.map(({ data, op_name, input_slot }, i): Card => {
      const isSame = isPassedOn(data, 0) && outputs[slot]?.bad !== undefined;
      const own = data && outputSummary(data, 0);
      return {
        ...card(
          data,
          op_name,
          0,
          isSame ? passedOn(own ?? NOTHING_KNOWN, outputs[slot] ?? NOTHING_KNOWN) : own,
        ),
        key: `c${slot}.${i}`,
        title: op_name,
        slot,
        takenAs: input_slot,
        same: isSame ? (same ?? tensorName(info.op_name, slot)) : undefined,
      };
    }),
  );
  return {
    opName: info.op_name,
    opType: info.op_type,
    device: info.device_name,
    role: roleWords(info.op_name, roleOfOutput(info)),
    forward: info.forward,
    runs: info.runs.map(({ graph_id, graph_name }) => ({ graph: graph_id, name: graph_name ?? graph_id })),
    outputs,
    same,
    inputs:
      inputs.length === 0 && caller !== undefined && ARGUMENTS.has(info.op_type)
        ? [callerCard(caller)]
        : inputs,
    consumers,
    consumersKnown: true,
  };
}

export function forwardTarget(forward: Forward): Target {
  const { graph_id, op_name, graph_execution_index } = forward;
  return { kind: "op", graph: graph_id, opName: op_name, trace: graph_execution_index };
}

export function linkTarget(wire: WireTarget | undefined): Target {
  if (wire === undefined) return { kind: "nowhere" };
  const { graph_id: graph, op_name: opName, graph_execution_index: trace, execution_index: index } = wire;
  if (graph !== undefined && opName !== undefined) return { kind: "op", graph, opName, trace };
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
    note: "handed it in",
    target: { kind: "execution", index: caller },
  };
}

export function ofExecution(data: ExecutionData): Neighbourhood {
  return {
    opName: undefined,
    opType: data.op_type,
    device: data.device_names.find((name) => name !== undefined),
    role: undefined,
    forward: undefined,
    runs: [],
    outputs: outputSummaries(data),
    same: undefined,
    inputs: data.inputs.map((input, slot) => ({
      key: `i${slot}`,
      title:
        input.execution_index === undefined
          ? `tensor ${input.tensor_id ?? "?"}`
          : `#${input.execution_index}:${input.output_slot ?? 0}`,
      opType: input.op_type,
      slot,
      summary: fromWire(input.health),
      target:
        input.execution_index === undefined
          ? { kind: "nowhere" }
          : { kind: "execution", index: executionIndex(input.execution_index) },
    })),
    consumers: [],
    consumersKnown: false,
  };
}

/** One summary for each output, known or not. */
export function outputSummaries(data: ExecutionData): readonly Summary[] {
  const n = Math.max(data.output_tensor_ids.length, data.outputs.length);
  return Array.from({ length: n }, (_, i) => fromWire(data.outputs[i]) ?? NOTHING_KNOWN);
}

/** Pixels of a card and of the space between two cards. */
export interface CardSize {
  readonly height: number;
  readonly gap: number;
}

/**
 * Tops of the cards of one column: centred, but none above `least`, so that a long column continues below.
 */
export function cardTops(n: number, middle: number, least: number, card: CardSize): readonly number[] {
  const first = Math.max(least, middle - columnHeight(n, card) / 2);
  return Array.from({ length: n }, (_, i) => first + i * (card.height + card.gap));
}

export function columnHeight(n: number, { height, gap }: CardSize): number {
  return n * height + Math.max(0, n - 1) * gap;
}

/**
 * Offset from the middle of a card's side to the curve of a slot; the slots are in order around the middle.
 */
export function portOffset(slot: number, n: number, height: number): number {
  return n < 2 ? 0 : (slot - (n - 1) / 2) * Math.min(14, (height - 16) / (n - 1));
}

/** A curve with horizontal ends, as an SVG path. */
export function curve(x0: number, y0: number, x1: number, y1: number): string {
  const bend = (x1 - x0) / 2;
  return `M${x0},${y0} C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`;
}
