/** The routes of alert rules: their thresholds and counts, what breaks them, and what is meant. */
import type * as ids from "../base/ids";
import { executionIndex, graphExecutionIndex } from "../base/ids";
import * as answers from "./answers";
import {
  branded,
  type Check,
  type Checked,
  list,
  listOrNone,
  number,
  object,
  optional,
  text,
  truth,
} from "./check";
import type { Client } from "./fetch";

const numberOrText: Check<number | string> = (value, where) =>
  typeof value === "number" ? value : text(value, where);

const parameter = object({
  name: text,
  default: numberOrText,
  value: numberOrText,
  low: number,
  high: number,
  unit: text,
  scale: text,
  choices: list(text),
  whole: truth,
});
export type RuleParameter = Checked<typeof parameter>;

const rule = object({
  alert_type: text,
  title: text,
  severity: text,
  description: text,
  recommended: truth,
  missing: optional(text),
  num_tensors: optional(number),
  num_values: optional(number),
  num_allowed: optional(number),
  parameters: list(parameter),
});
export type Rule = Checked<typeof rule>;

const source = object({ path: text, line: number, function: text });
const finding = object({
  alert_type: text,
  severity: text,
  measured: text,
  count: number,
  op_type: text,
  op_name: optional(text),
  output_slot: number,
  execution_index: optional(branded(number, executionIndex)),
  graph_execution_trace_index: optional(branded(number, graphExecutionIndex)),
  source: optional(source),
  allowed: optional(text),
  remark: optional(text),
  num_tensors: number,
  tensors: list(text),
  variable: optional(text),
  gradient_of: listOrNone(text),
  process: optional(text),
});
export type Finding = Checked<typeof finding>;

/** Alerts of a rule that the page lists; the rest is on the command line. */
const SHOWN = 200;

/** What is meant, as `tbdbg_allow.toml` has it. */
export interface Meant {
  readonly rule: string;
  readonly op_name?: string;
  readonly op_type?: string;
  readonly reason: string;
}

export function ruleRoutes(client: Client) {
  return {
    rules: async (run: ids.RunName, query: Record<string, string>, signal?: AbortSignal) =>
      (await client.json("alerts/rules", { run, ...query }, object({ rules: list(rule) }), signal)).rules,
    findings: async (run: ids.RunName, query: Record<string, string>, signal?: AbortSignal) => {
      const shape = object({ num_alerts: number, alerts: list(finding) });
      const counted = await client.json("alerts/found", { run, ...query, end: 0 }, shape, signal);
      const end = Math.min(SHOWN, counted.num_alerts);
      return client.json("alerts/found", { run, ...query, end }, shape, signal);
    },
    /** Explains an alert of the list by its position. */
    explained: async (run: ids.RunName, query: Record<string, string>, index: number, signal?: AbortSignal) =>
      (await client.json("alerts/explained", { run, ...query, index }, answers.explained, signal)).diagnosis,
    /** Keeps an alert that is meant in a file beside the run. */
    allow: (run: ids.RunName, meant: Meant) =>
      client.post("alerts/allow", { run, ...meant }, object({ file: text })),
  };
}
