/** The routes of comparisons: where two runs part, and the histories of a tensor in both. */
import * as ids from "../base/ids";
import { health } from "./answers";
import { branded, type Checked, list, number, object, optional, text, truth } from "./check";
import { type Column, decodeBlocks } from "./columns";
import type { Client } from "./fetch";
import { source } from "./origins";
import { refParams, type ValueRef } from "./values";

/** A tensor in one of the runs. */
const side = object({
  op_type: text,
  op_name: optional(text),
  output_slot: number,
  graph_id: optional(branded(text, ids.graphId)),
  function: optional(text),
  layer: optional(text),
  variable: optional(text),
  source: optional(source),
  execution_index: optional(branded(number, ids.executionIndex)),
  graph_execution_index: optional(branded(number, ids.graphExecutionIndex)),
  summary: optional(health),
});
export type Side = Checked<typeof side>;

const tensor = {
  first: side,
  second: side,
  paired_by: text,
  occurrence: number,
  difference: optional(number),
  largest: optional(number),
  tolerance: number,
  compared: number,
  inherited: optional(number),
  what: text,
};
const tensorDifference = object(tensor);
export type TensorDifference = Checked<typeof tensorDifference>;

const inputOfFirst = object({
  first: optional(side),
  second: optional(side),
  difference: optional(number),
  is_within: optional(truth),
});
export type InputOfFirst = Checked<typeof inputOfFirst>;

const firstDifference = object({
  ...tensor,
  headline: text,
  explanation: text,
  cause: text,
  inputs: list(inputOfFirst),
  values: optional(
    object({
      size: number,
      num_different: number,
      max_absolute: optional(number),
      max_relative: optional(number),
    }),
  ),
});
export type FirstDifference = Checked<typeof firstDifference>;

const change = object({ kind: text, first: optional(side), second: optional(side), words: text });
export type ProgramChange = Checked<typeof change>;

const comparison = object({
  first_difference: optional(firstDifference),
  headline: text,
  tensors: list(tensorDifference),
  num_tensors: number,
  changes: list(change),
  num_changes: number,
  num_compared: number,
  num_compared_tensors: number,
  notes: list(text),
});
export type Comparison = Checked<typeof comparison>;

const historiesHeader = object({
  first: side,
  second: optional(side),
  total: number,
  occurrence: optional(number),
  is_unordered: truth,
});

/** A row for each occurrence; of a long history, for some of them. */
export interface Histories extends Checked<typeof historiesHeader> {
  readonly columns: ReadonlyMap<string, Column>;
}

export function comparisonRoutes(client: Client) {
  return {
    /** Without a tolerance, the server computes one for each tensor. */
    compare: (run: ids.RunName, other: ids.RunName, tolerance?: number, signal?: AbortSignal) =>
      client.json("compare", { run, other, tolerance }, comparison, signal),
    /** `ref` is one of the occurrences in `run`. */
    histories: async (
      run: ids.RunName,
      other: ids.RunName,
      ref: ValueRef,
      tolerance?: number,
      signal?: AbortSignal,
    ): Promise<Histories> => {
      const params = { ...refParams(run, ref), other, tolerance };
      const body = await client.bytes("compare/histories", params, signal);
      const { header, columns } = decodeBlocks(body, historiesHeader);
      return { ...header, columns };
    },
  };
}
