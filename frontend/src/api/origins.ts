/** The route of origins: where bad values come from, and by which way. */
import * as ids from "../base/ids";
import { example, health, phrase } from "./answers";
import { branded, type Checked, list, listOrNone, number, object, optional, text, truth } from "./check";
import type { Client } from "./fetch";

/** A line of the user's own code. */
export const source = object({ path: text, line: number, function: optional(text), text: optional(text) });
export type SourceOf = Checked<typeof source>;

/** Where a value is: an op of a graph, or an execution. */
const place = {
  op_type: text,
  op_name: optional(text),
  output_slot: number,
  graph_id: optional(branded(text, ids.graphId)),
  source: optional(source),
  step: optional(number),
  execution_index: optional(branded(number, ids.executionIndex)),
  graph_execution_index: optional(branded(number, ids.graphExecutionIndex)),
  kind: text,
};

const chainLink = object({
  ...place,
  graph_name: optional(text),
  relation: text,
  words: optional(text),
  skipped: optional(number),
});
export type ChainLink = Checked<typeof chainLink>;

const evidenceInput = object({ name: text, health: optional(health) });

const origin = object({
  ...place,
  kind_is_certain: optional(truth),
  category: text,
  layer: optional(text),
  function: optional(text),
  variable: optional(text),
  gradient_source: optional(source),
  count: number,
  headline: text,
  explanation: text,
  phrases: object({ what: list(phrase), why: list(phrase), where: list(phrase) }),
  evidence: object({ output: optional(health), inputs: listOrNone(evidenceInput) }),
  advice: optional(text),
  example: optional(example),
  certainty: text,
  missing: optional(text),
  chain: list(chainLink),
});
export type Origin = Checked<typeof origin>;

export function originRoutes(client: Client) {
  return {
    /** The most important origin first. */
    origins: async (run: ids.RunName, signal?: AbortSignal) =>
      (await client.json("origins", { run }, object({ origins: list(origin) }), signal)).origins,
  };
}
