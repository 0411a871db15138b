/** What of curves is shown. */
import { signal } from "@preact/signals";
import type { CurveSource } from "../../api/curves";
import type { AxisName, Span } from "../../model/curves";

export type CurveFacts = ReturnType<typeof createCurveFacts>;

export function createCurveFacts() {
  return {
    /** The tensors that stay in the chart beside the one that is shown. */
    besideCurves: signal<readonly CurveSource[]>([]),
    /** The number that is drawn; undefined for the first that is on record. */
    curveNumber: signal<string | undefined>(undefined),
    /** Whether magnitudes by powers of two are drawn in place of a number, where they are on record. */
    areExponentsWanted: signal(false),
    curveAxis: signal<AxisName>("occurrence"),
    isCurveLog: signal(false),
    /** The occurrences that are drawn of a tensor; undefined for all. */
    curveSpan: signal<Span | undefined>(undefined),
  };
}
