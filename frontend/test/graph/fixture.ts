/** Answers about graphs, drawn as text: "x > Log > mul, y > mul". */
import type { Health, Neighbours } from "../../src/api/generated/answers";
import { graphExecutionIndex, graphId } from "../../src/base/ids";

type NearOp = Neighbours["ops"][number];

export function health(nan: number): Health {
  return {
    graph_execution_index: graphExecutionIndex(7),
    dtype: "float32",
    shape: [4],
    rank: 1,
    size: 4,
    ...{ neg_inf: 0, pos_inf: 0, nan, negative: 0, zero: 0, positive: 4 - nan },
    bad: nan > 0,
  } as unknown as Health;
}

/** The op in focus is `focus`; those that `more` names have other fields. */
export function near(drawing: string, focus: string, more: Record<string, Partial<NearOp>> = {}): Neighbours {
  const pairs = drawing.split(", ").flatMap((line) => {
    const names = line.split(" > ");
    return names.slice(1).map((to, i) => [names[i] as string, to] as const);
  });
  const names = [...new Set([focus, ...pairs.flat()])];
  const taken = new Map<string, number>();
  return {
    ops: names.map((name) => nearOp(name, pairs, focus, more[name])),
    edges: pairs.map(([from, to]) => {
      const slot = taken.get(to) ?? 0;
      taken.set(to, slot + 1);
      const [source, target] = [names.indexOf(from), names.indexOf(to)];
      return { source, target, output_slot: 0, input_slot: slot, call: undefined };
    }),
    control_edges: [],
    truncated: false,
  };
}

function nearOp(
  name: string,
  pairs: readonly (readonly [string, string])[],
  focus: string,
  more: Partial<NearOp> = {},
): NearOp {
  const isBefore = pairs.some(([from, to]) => from === name && to === focus);
  return {
    graph_id: graphId("g"),
    graph_name: "loss",
    op_name: name,
    op_type: name,
    device_name: undefined,
    layer: undefined,
    variable: undefined,
    distance: name === focus ? 0 : isBefore ? -1 : 1,
    runs: [],
    inputs_left_out: 0,
    consumers_left_out: 0,
    outputs: [{ dtype: "float32", shape: [4], gradient_of: [], health: health(0) }],
    ...more,
  } as NearOp;
}

/** The fields of an op whose output has so many NaN. */
export function withNan(nan: number): Partial<NearOp> {
  return { outputs: [{ dtype: "float32", shape: [4], gradient_of: [], health: health(nan) }] };
}
