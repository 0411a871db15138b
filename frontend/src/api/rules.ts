/** The routes of alert rules: their thresholds and counts, what breaks them, and what is meant. */
import type * as ids from "../base/ids";
import * as answers from "./answers";
import { object, text } from "./check";
import type { Client } from "./fetch";

/** Alerts of a rule that the page lists; the rest is on the command line. */
const SHOWN = 200;

/** What the alerts of a group have in common, and how the page says it. */
export const GROUPINGS = {
  cause: "cause",
  layer: "layer",
  variable: "variable",
  line: "line",
  op: "op type",
  function: "function",
  process: "process",
  rule: "rule",
} as const;
export type Grouping = keyof typeof GROUPINGS;

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
      (await client.json("alerts/rules", { run, ...query }, answers.rules, signal)).rules,
    findings: (run: ids.RunName, query: Record<string, string>, signal?: AbortSignal) =>
      client.json("alerts/found", { run, ...query, end: SHOWN }, answers.findings, signal),
    /** What breaks a rule, or the recommended rules, by what it has in common. */
    alertGroups: (run: ids.RunName, by: Grouping, rule: string | undefined, signal?: AbortSignal) =>
      client.json(
        "alerts/groups",
        { run, rules: rule ?? "recommended", by, end: SHOWN },
        answers.alertGroups,
        signal,
      ),
    /** Explains an alert of the list by its position. */
    explained: async (run: ids.RunName, query: Record<string, string>, index: number, signal?: AbortSignal) =>
      (await client.json("alerts/explained", { run, ...query, index }, answers.explained, signal)).diagnosis,
    /** Keeps an alert that is meant in a file beside the run. */
    allow: (run: ids.RunName, meant: Meant) =>
      client.post("alerts/allow", { run, ...meant }, object({ file: text })),
  };
}
