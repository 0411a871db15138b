/** The numbers of an alert, for the health bar. */
import type { Alert } from "../api/answers";
import type { Summary } from "./health";

export function alertSummary({ size, num_neg_inf, num_pos_inf, num_nan, bad }: Alert): Summary {
  return { size, counts: { negInf: num_neg_inf, posInf: num_pos_inf, nan: num_nan }, bad };
}
