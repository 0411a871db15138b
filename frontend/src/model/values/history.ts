/** The history of an element of a tensor as a line of a chart. */
import type { ColumnPage } from "../../api/columns";
import type { ChartLine } from "../chart";
import { AXES } from "../curves";

/** The health of a record with NaN or an infinity. */
const BAD = 2;

/** The element of each occurrence on a page, where it is kept and finite. */
export function historyLine(page: ColumnPage, element: string | undefined): ChartLine {
  const occurrences = Array.from({ length: page.end - page.begin }, (_, i) => page.begin + i);
  const [values, health] = [page.columns.get("value"), page.columns.get("health")];
  return {
    label: element ?? "the tensor",
    x: occurrences.map((at) => at + AXES.occurrence.offset),
    y: occurrences.map((_, i) => values?.[i]),
    bad: occurrences.map((_, i) => health?.[i] === BAD),
    look: 0,
  };
}
