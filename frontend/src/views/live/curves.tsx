/** The curves of watched tensors, which grow while the program runs. */
import { useMemo } from "preact/hooks";
import type { Watched } from "../../api/live";
import { compact, grouped, shortNumber } from "../../base/text";
import { numbersOf, rangeOf } from "../../model/chart";
import { type CurveNumber, type CurvePoint, liveLine } from "../../model/live/curves";
import { placeWords } from "../../model/live/places";
import { mayEdit } from "../../model/live/program";
import { Chart } from "../chart/chart";
import { Choice, optionsOf } from "../choice";
import { TensorName } from "../numbers";
import { Hint, IconButton } from "../panel";
import type { With } from "../props";

const WORDS: Readonly<Record<CurveNumber, string>> = {
  mean: "mean",
  min: "min",
  max: "max",
  range: "max − min",
  std: "standard deviation",
  nan: "number of NaN",
  inf: "number of ±∞",
  zero: "number of zeros",
};

export function CurvesTools({ store }: With<"livePanel">) {
  const { curveNumber, setCurveNumber } = store.livePanel;
  return (
    <label class="lp-label">
      draw{" "}
      <Choice
        options={optionsOf(WORDS)}
        value={curveNumber.value}
        choose={setCurveNumber}
        testId="curve-number"
      />
    </label>
  );
}

export function Curves({ store }: With<"live" | typeof Curve>) {
  const watched = store.live.state.value?.watched ?? [];
  if (watched.length === 0)
    return (
      <Hint>
        No tensor is watched. Press ∿ in a row of the tensors, or the key w: its numbers are drawn here while
        the program runs.
      </Hint>
    );
  return (
    <div class="lp-curves scroll short grow">
      {watched.map((one) => (
        <Curve key={one.number} store={store} watched={one} />
      ))}
    </div>
  );
}

function Curve({ store, watched }: With<"live" | "livePanel" | typeof CurvePicture, { watched: Watched }>) {
  const { where, number, points } = watched;
  const name = store.livePanel.curveNumber.value;
  const title = placeWords(where);
  const mayChange = mayEdit(store.live.program.value, store.live.readOnly.value);
  return (
    <figure class="lp-figure slim" data-testid="live-watched">
      <figcaption>
        <b class="ellipsis">
          <TensorName name={title} />
        </b>
        <IconButton
          label={`Stop watching ${title}`}
          title="Stop watching"
          text="×"
          off={!mayChange}
          testId="live-unwatch"
          act={() => void store.live.unwatch(number)}
        />
      </figcaption>
      <CurvePicture store={store} label={title} points={points} name={name} />
      <Ends points={points} name={name} />
    </figure>
  );
}

interface PictureProps extends With<typeof Chart> {
  readonly label: string;
  readonly points: readonly CurvePoint[];
  readonly name: CurveNumber;
  /** The position of the point that is marked. */
  readonly at?: number | undefined;
  readonly pick?: (at: number) => void;
}

/** A curve of a number of a tensor. */
export function CurvePicture({ store, label, points, name, at, pick }: PictureProps) {
  const lines = useMemo(() => [liveLine(label, points, name)], [label, points, name]);
  return (
    <Chart
      store={store}
      label={WORDS[name]}
      lines={lines}
      now={at}
      place={(x) => `call ${grouped(points[x]?.call ?? 0)}`}
      {...(pick && { pick })}
      isSmall={true}
      testId="live-curve"
    />
  );
}

/** The calls at both ends, the range of the curve, and its last number. */
function Ends({ points, name }: { readonly points: Watched["points"]; readonly name: CurveNumber }) {
  const line = liveLine("", points, name);
  const [range, last] = [rangeOf(numbersOf([line])), line.y.findLast((value) => value !== undefined)];
  if (points.length === 0) return <p class="dim">not computed yet</p>;
  return (
    <p class="value-ends dim">
      <span>call {compact(points[0]?.call ?? 0)}</span>
      <span>
        {range === undefined ? "no finite number" : `${shortNumber(range.low)} … ${shortNumber(range.high)}`}
      </span>
      <span>
        {last === undefined ? "" : `last ${shortNumber(last)} · `}call {grouped(points.at(-1)?.call ?? 0)}
      </span>
    </p>
  );
}
