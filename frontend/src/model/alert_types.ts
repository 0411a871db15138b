/** The buttons for alert rules: each rule that has alerts, with its count. */
import type { AlertRule } from "../api/answers";

export interface AlertType {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly isError: boolean;
  readonly count: number;
}

/** `chosen` is listed even without alerts, so that it can be released. */
export function alertTypes(
  rules: readonly AlertRule[],
  breakdown: ReadonlyMap<string, number>,
  chosen: string | undefined,
): readonly AlertType[] {
  const known = rules.map(
    ({ alert_type: id, title, description, severity }): AlertType => ({
      id,
      title,
      description,
      isError: severity === "critical",
      count: breakdown.get(id) ?? 0,
    }),
  );
  // A link may name a rule that the server does not have.
  const isUnknown = chosen !== undefined && !known.some(({ id }) => id === chosen);
  const unknown: AlertType = {
    id: chosen ?? "",
    title: chosen ?? "",
    description: "",
    isError: true,
    count: 0,
  };
  return [...known, ...(isUnknown ? [unknown] : [])].filter(({ id, count }) => count > 0 || id === chosen);
}
