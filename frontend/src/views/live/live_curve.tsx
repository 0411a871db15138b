/** A curve of a number of a tensor, with the band from its minimum to its maximum. */
import { shortNumber } from "../../base/text";
import { xOf } from "../../model/curve_paths";
import { type CurveNumber, type CurvePoint, liveCurve } from "../../model/live/curves";

const SIZE = { width: 400, height: 76 } as const;

interface CurveProps {
  readonly label: string;
  readonly points: readonly CurvePoint[];
  readonly name: CurveNumber;
  /** The position of the point that is marked. */
  readonly at?: number | undefined;
}

export function CurvePicture({ label, points, name, at }: CurveProps) {
  const { line, band, bad, range, last } = liveCurve(points, name, SIZE);
  const x = at === undefined ? undefined : xOf(at, points.length, SIZE.width);
  const words =
    range === undefined
      ? `${label}: no finite number of ${points.length}`
      : `${label}: ${name} from ${shortNumber(range.low)} to ${shortNumber(range.high)}, last ${shortNumber(last ?? Number.NaN)}`;
  return (
    <svg
      class="lp-curve wide ruled"
      role="img"
      aria-label={words}
      viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
      preserveAspectRatio="none"
      data-testid="live-curve"
    >
      <title>{words}</title>
      <path class="lp-band" d={band} />
      <path class="history-line" d={line} />
      <path class="history-bad" d={bad} />
      {x !== undefined && <path class="history-now" d={`M${x},0V${SIZE.height}`} />}
    </svg>
  );
}
