/** Follows ops that return their input unchanged back to the op whose numbers are measured. */
import type { OpInfo, OpInput } from "../api/answers";
import type { Api } from "../api/routes";
import type { GraphExecutionIndex, GraphId, RunName } from "../base/ids";
import { isPassedOn, type OpSeen } from "../model/passed_on";

/** Limits for inputs and for steps along a chain, because each step is a request. */
const MOST_INPUTS = 12;
const LONGEST = 8;

export async function opSeen(
  api: Api,
  run: RunName,
  graph: GraphId,
  name: string,
  at: GraphExecutionIndex | undefined,
  signal: AbortSignal,
): Promise<OpSeen> {
  const info = await api.op(run, graph, name, at, signal);
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
