/** Thresholds of alert rules: where a slider stands, and the settings of a request. */
import type { Rule, RuleParameter } from "../api/answers";

/** The steps of a slider from end to end. */
export const SLIDER_STEPS = 1000;

/** Values that the reader chose, by `rule.parameter`. */
export type Thresholds = ReadonlyMap<string, string>;

/** The step at which the slider of a parameter stands for a value. */
export function stepOf({ low, high, scale }: RuleParameter, value: number): number {
  const share = scale === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.round(Math.min(1, Math.max(0, share)) * SLIDER_STEPS);
}

/** The value at a step of the slider of a parameter: three digits, and whole where it must be. */
export function valueAt({ low, high, scale, whole }: RuleParameter, step: number): number {
  const share = step / SLIDER_STEPS;
  const value = scale === "log" ? low * (high / low) ** share : low + (high - low) * share;
  const short = whole ? Math.round(value) : Number(value.toPrecision(3));
  return Math.min(high, Math.max(low, short));
}

/** The thresholds with one changed; the default is left out. */
export function withThreshold(
  thresholds: Thresholds,
  rule: Rule,
  parameter: RuleParameter,
  value: string,
): Thresholds {
  const next = new Map(thresholds);
  const name = `${rule.alert_type}.${parameter.name}`;
  if (value === String(parameter.default)) next.delete(name);
  else next.set(name, value);
  return next;
}

/** The parameters of a request: the thresholds, and the rules that are asked beside the recommended ones. */
export function ruleQuery(thresholds: Thresholds, asked: ReadonlySet<string>): Record<string, string> {
  return { rules: ["recommended", ...asked].join(","), ...Object.fromEntries(thresholds) };
}

/** The thresholds of one rule, for the list of what breaks it. */
export function queryOf(thresholds: Thresholds, rule: string): Record<string, string> {
  const own = [...thresholds].filter(([name]) => name.startsWith(`${rule}.`));
  return { rules: rule, ...Object.fromEntries(own) };
}
