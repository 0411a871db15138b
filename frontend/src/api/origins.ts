/** The route of origins: where bad values come from, and by which way. */
import * as ids from "../base/ids";
import { example, health, phrase } from "./answers";
import { branded, type Checked, list, listOrNone, number, object, optional, text, truth } from "./check";
import type { Client } from "./fetch";
import { link, userLine } from "./generated/answers";

export type { Link as ChainLink, UserLine as SourceOf } from "./generated/answers";

const evidenceInput = object({ name: text, health: optional(health) });

const origin = object({
  op_type: text,
  op_name: optional(text),
  output_slot: number,
  graph_id: optional(branded(text, ids.graphId)),
  source: optional(userLine),
  step: optional(number),
  execution_index: optional(branded(number, ids.executionIndex)),
  graph_execution_index: optional(branded(number, ids.graphExecutionIndex)),
  kind: text,
  kind_is_certain: optional(truth),
  category: text,
  layer: optional(text),
  function: optional(text),
  variable: optional(text),
  gradient_source: optional(userLine),
  count: number,
  headline: text,
  explanation: text,
  phrases: object({ what: list(phrase), why: list(phrase), where: list(phrase) }),
  evidence: object({ output: optional(health), inputs: listOrNone(evidenceInput) }),
  advice: optional(text),
  example: optional(example),
  certainty: text,
  missing: optional(text),
  chain: list(link),
});
export type Origin = Checked<typeof origin>;

export function originRoutes(client: Client) {
  return {
    /** The most important origin first. */
    origins: async (run: ids.RunName, signal?: AbortSignal) =>
      (await client.json("origins", { run }, object({ origins: list(origin) }), signal)).origins,
  };
}
