/** Follows ops that return their input unchanged back to the op whose numbers are measured. */
import type { OpInfo, OpInput } from "../api/answers";
import type { Api } from "../api/routes";
import type { GraphExecutionIndex, GraphId, RunName } from "../base/ids";
import { isPassedOn, type OpSeen } from "../model/passed_on";

/** Limits for inputs and for steps along a chain, because each step is a request. */
const MOST_INPUTS = 12;
const LONGEST = 8;

interface OpAt {
  readonly graph: GraphId;
  readonly opName: string;
  readonly trace: GraphExecutionIndex | undefined;
}

/** `known` is the description of the op itself, if it came with another answer. */
export async function opSeen(
  api: Api,
  run: RunName,
  { graph, opName, trace: at }: OpAt,
  signal: AbortSignal,
  known?: OpInfo,
): Promise<OpSeen> {
  const info = known ?? (await api.op(run, graph, opName, at, signal));
  const origin = async ({ data, op_name, output_slot }: OpInput): Promise<OpInput | undefined> => {
    if (!isPassedOn(data, output_slot)) return undefined;
    let passing: OpInfo = await api.op(run, graph, op_name, at, signal);
    for (let step = 0; step < LONGEST; step++) {
      const [input] = passing.inputs;
      if (!isPassedOn(input?.data, input?.output_slot ?? 0)) return input;
      passing = await api.op(run, graph, input?.op_name ?? "", at, signal);
    }
    return undefined;
  };
  const same = await Promise.all(info.inputs.slice(0, MOST_INPUTS).map(origin));
  return { ...info, inputs: info.inputs.map((input, slot) => ({ ...input, same: same[slot] })) };
}
