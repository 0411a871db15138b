/** What is known of a value that a program does not hold any more: the numbers from when it was computed. */
import type { ValueInfo, WireHealth } from "../../api/answers";
import { COUNTS, MOMENTS } from "../../api/generated/modes";
import { byName } from "../health";
import { dtypeName } from "../names";
import type { Seen } from "./seen_tensors";
import { nameOf, summaryOf } from "./tensor_rows";

export interface Gone {
  readonly seen: Seen;
  /** Its position among the times that the tensor was seen, and the number of those. */
  readonly at: number;
  readonly of: number;
}

export function goneInfo({ seen: { call, tensor }, at, of }: Gone): ValueInfo {
  const { size } = summaryOf(tensor);
  return {
    graph_execution: undefined,
    execution: undefined,
    slot: tensor.slot,
    name: nameOf(tensor),
    op_type: tensor.op_type,
    op_name: tensor.op_name,
    graph_id: tensor.graph_id,
    function: tensor.function === "" ? undefined : tensor.function,
    wall_time: 0,
    dtype: dtypeName(tensor.dtype),
    shape: tensor.shape,
    size,
    bytes: undefined,
    is_kept: false,
    reason: goneReason(call, tensor.no_value),
    element: undefined,
    health: healthOf(tensor),
    num_occurrences: of,
    occurrence: at,
  };
}

function goneReason(call: number, noValue: string): string {
  if (noValue !== "") return noValue;
  return `This was computed in call ${call}. The program holds elements only until the next call begins.`;
}

function healthOf(tensor: Seen["tensor"]): WireHealth {
  const { dtype, rank, size, counts, numerics, bad } = summaryOf(tensor);
  return {
    graph_execution_index: undefined,
    tensor_debug_mode: 0,
    dtype,
    rank,
    shape: tensor.shape,
    size,
    ...byName(COUNTS, (name) => counts[name]),
    ...byName(MOMENTS, (name) => numerics?.[name]),
    bad,
  };
}
