/** The numbers of an alert, for the health bar. */
import type { Alert } from "../api/answers";
import type { Summary } from "./health";

export function alertSummary({ size, num_neg_inf, num_pos_inf, num_nan, bad }: Alert): Summary {
  return { size, counts: { neg_inf: num_neg_inf, pos_inf: num_pos_inf, nan: num_nan }, bad };
}
