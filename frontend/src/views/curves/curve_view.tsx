/** The curve of the tensor that is shown, with those that were kept beside it, and their numbers as a table. */
import { useMemo, useState } from "preact/hooks";
import type { CurveSource, OfVariable } from "../../api/curves";
import { shown } from "../../base/loaded";
import { counted, grouped, significant } from "../../base/text";
import { type ChartLine, nearestPoint, rangeOf, valueWords } from "../../model/chart";
import {
  AXES,
  type AxisName,
  curveName,
  type DrawnCurve,
  lineOf,
  NUMBER_WORDS,
  placeOf,
  recordedNumbers,
  sourceKey,
  spanOf,
} from "../../model/curves";
import type { ValueView } from "../../model/values/view";
import { Chart } from "../chart/chart";
import { Choice } from "../choice";
import { TensorName } from "../numbers";
import { Button, Failure, Hint, IconButton } from "../panel";
import type { Takes, With } from "../props";
import { Exponents } from "./exponents";

type Uses = Takes<
  "drawnCurves" | "besideCurves" | "curveAxis" | "isCurveLog" | "curveSpan" | "valueElement",
  "drawNumber" | "drawExponents" | "areExponentsWanted" | "setCurveAxis" | "setCurveLog" | "zoomCurve",
  "keepCurve" | "dropCurve" | "goToPoint" | typeof Chart | typeof Exponents
>;

type ViewProps = With<Uses, { view: ValueView }>;

export function CurveView({ store, view }: ViewProps) {
  const loaded = store.drawnCurves.value;
  const curves = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (curves === undefined) return <Hint>Loading …</Hint>;
  return (
    <div class="curve-view pile short grow" data-testid="curve-view">
      <Tools store={store} view={view} curves={curves} />
      {areExponentsDrawn(store, curves) ? (
        <Exponents store={store} source={view.historyOf} occurrence={view.info.occurrence} />
      ) : (
        <Curves store={store} view={view} curves={curves} />
      )}
    </div>
  );
}

function areExponentsDrawn(store: ViewProps["store"], curves: readonly DrawnCurve[]): boolean {
  return store.areExponentsWanted.value && curves[0]?.curve.has_exponents === true;
}

type CurvesProps = With<Uses, { view: ValueView; curves: readonly DrawnCurve[] }>;

function Curves({ store, view, curves }: CurvesProps) {
  const [hover, setHover] = useState<number | undefined>(undefined);
  const axis = store.curveAxis.value;
  const lines = useMemo(() => curves.map((drawn, i) => lineOf(drawn, axis, i)), [curves, axis]);
  const first = curves[0];
  if (first === undefined) return null;
  const { isTime, place } = AXES[axis];
  const number = numberWords(first.curve.number);
  const zoom = (range: { from: number; to: number } | undefined) => {
    const span = range && spanOf(first, axis, range);
    if (range === undefined || span !== undefined) store.zoomCurve(span);
  };
  return (
    <>
      {first.curve.total === 0 ? (
        <Hint>It was never computed.</Hint>
      ) : (
        <Chart
          store={store}
          label={`${number} by ${AXES[axis].title}`}
          lines={lines}
          isLog={store.isCurveLog.value}
          isTime={isTime}
          now={placeOf(first.curve, axis, view.info.occurrence)}
          place={place}
          hover={setHover}
          pick={(x) => goTo(store, curves, lines, x)}
          zoom={zoom}
          testId="curve-chart"
        />
      )}
      <Legend store={store} curves={curves} lines={lines} at={hover} />
    </>
  );
}

function numberWords(number: string): string {
  return NUMBER_WORDS[number] ?? `element ${number}`;
}

/** Goes to the point that is nearest to a place: a bad one first, since all lines have points there. */
function goTo(
  store: CurvesProps["store"],
  curves: readonly DrawnCurve[],
  lines: readonly ChartLine[],
  x: number,
): void {
  const found = curves.map((drawn, i) => {
    const line = lines[i] as ChartLine;
    const point = nearestPoint(line, x);
    return {
      drawn,
      i,
      point,
      isBad: point !== undefined && line.bad?.[point] === true,
      at: line.x[point ?? -1],
    };
  });
  const near = found.filter(({ at }) => at === x);
  const chosen = near.find(({ isBad }) => isBad) ?? near[0];
  if (chosen?.point !== undefined) store.goToPoint(chosen.drawn, chosen.point, chosen.i === 0);
}

/** What is chosen among the numbers for the map of magnitudes. */
const EXPONENTS = "exponents";

/** Which number, on which axes, and other tensors of the variable. */
function Tools({ store, view, curves }: CurvesProps) {
  const areExponents = areExponentsDrawn(store, curves);
  const number = areExponents ? EXPONENTS : (curves[0]?.curve.number ?? "");
  const wanted = store.curveSpan.value;
  const span = wanted?.of === sourceKey(view.historyOf) ? wanted : undefined;
  return (
    <div class="curve-tools line wrap fixed">
      <Choice
        options={numberOptions(curves, store.valueElement.value, number)}
        value={number}
        choose={(chosen) => (chosen === EXPONENTS ? store.drawExponents() : store.drawNumber(chosen))}
        label="The number that is drawn"
        testId="curve-number-choice"
      />
      <label class="curve-label">
        by{" "}
        <Choice
          options={(Object.keys(AXES) as AxisName[]).map((value) => ({ value, title: AXES[value].title }))}
          value={store.curveAxis.value}
          choose={store.setCurveAxis}
          testId="curve-axis"
        />
      </label>
      {!areExponents && <LogSwitch store={store} />}
      {span !== undefined && (
        <Button
          class="small"
          title="Show all occurrences (0, or a double click)"
          testId="curve-all"
          act={() => store.zoomCurve(undefined)}
          text={`${grouped(span.begin + 1)}–${grouped(span.end)} ×`}
        />
      )}
      <span class="grow" />
      {!areExponents && <More store={store} view={view} curves={curves} />}
    </div>
  );
}

function LogSwitch({ store }: With<"isCurveLog" | "setCurveLog">) {
  return (
    <label class="curve-label">
      <input
        type="checkbox"
        checked={store.isCurveLog.value}
        data-testid="curve-log"
        onChange={(event) => store.setCurveLog(event.currentTarget.checked)}
      />{" "}
      log scale
    </label>
  );
}

function numberOptions(curves: readonly DrawnCurve[], element: string | undefined, now: string) {
  const names: string[] = [...recordedNumbers(curves)];
  const isKept = curves.some(({ curve }) => curve.numbers.includes("element"));
  if (isKept && element !== undefined && !names.includes(element)) names.push(element);
  if (!names.includes(now) && now !== EXPONENTS) names.push(now);
  const numbers = names.map((value) => ({ value, title: numberWords(value) }));
  const hasExponents = curves[0]?.curve.has_exponents === true;
  return hasExponents ? [...numbers, { value: EXPONENTS, title: "histogram of magnitudes" }] : numbers;
}

/** Keeps the tensor in the chart, and adds the other tensors of its variable. */
function More({ store, view, curves }: CurvesProps) {
  const first = curves[0];
  const kept = store.besideCurves.value.map(sourceKey);
  const variable = first?.curve.tensor.variable;
  const others: readonly OfVariable[] = variable === undefined ? [] : ["value", "gradient", "update"];
  return (
    <>
      {others.map((of) => {
        const source: CurveSource = { kind: "variable", name: variable ?? "", of };
        return kept.includes(sourceKey(source)) ? null : (
          <Button
            key={of}
            class="small"
            title={`Draw the ${of} of ${variable}, too`}
            testId={`curve-add-${of}`}
            act={() => store.keepCurve(source)}
            text={`+ ${of}`}
          />
        );
      })}
      {!kept.includes(sourceKey(view.historyOf)) && (
        <Button
          class="small"
          title="Keep this tensor in the chart, then choose another one and press v"
          testId="curve-keep"
          act={() => store.keepCurve(view.historyOf)}
          text="Keep in the chart"
        />
      )}
    </>
  );
}

interface LegendProps extends With<"besideCurves" | "dropCurve" | "goToPoint"> {
  readonly curves: readonly DrawnCurve[];
  readonly lines: readonly ChartLine[];
  readonly at: number | undefined;
}

/** What each line is, and its numbers: also the chart in words. */
function Legend({ store, curves, lines, at }: LegendProps) {
  const kept = store.besideCurves.value.map(sourceKey);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the keyboard
    <section class="curve-legend fixed" aria-label="The curves in words" tabIndex={0}>
      <table data-testid="curve-table">
        <thead>
          <tr>
            <th scope="col">tensor</th>
            <th scope="col">here</th>
            <th scope="col">lowest</th>
            <th scope="col">highest</th>
            <th scope="col">last</th>
            <th scope="col">computed</th>
            <th scope="col">bad</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {curves.map((drawn, i) => (
            <Row
              key={sourceKey(drawn.source)}
              store={store}
              drawn={drawn}
              line={lines[i] as ChartLine}
              at={at}
              isKept={kept.includes(sourceKey(drawn.source))}
              isShown={i === 0}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps extends With<"dropCurve" | "goToPoint"> {
  readonly drawn: DrawnCurve;
  readonly line: ChartLine;
  readonly at: number | undefined;
  readonly isKept: boolean;
  readonly isShown: boolean;
}

function Row({ store, drawn, line, at, isKept, isShown }: RowProps) {
  const { curve } = drawn;
  const range = rangeOf([...line.y, ...(line.low ?? []), ...(line.high ?? [])]);
  const words = (value: number | undefined) => (value === undefined ? "–" : significant(value));
  const last = line.y.findLast((value) => value !== undefined && Number.isFinite(value));
  return (
    <tr>
      <th
        scope="row"
        title={[curveName(drawn), curve.tensor.function, curve.tensor.layer].filter(Boolean).join(" · ")}
      >
        <i class={`curve-key curve-key-${line.look}`} /> <TensorName name={curveName(drawn)} />
      </th>
      <td class="mono">{at === undefined ? "" : valueWords(line, nearestPoint(line, at))}</td>
      <td class="mono">{words(range?.low)}</td>
      <td class="mono">{words(range?.high)}</td>
      <td class="mono">{words(last)}</td>
      <td>{counted(curve.total, "time")}</td>
      <BadCell store={store} drawn={drawn} line={line} isShown={isShown} />
      <td>
        {isKept && (
          <IconButton
            label={`Remove ${curveName(drawn)} from the chart`}
            title="Remove from the chart"
            text="×"
            testId="curve-drop"
            act={() => store.dropCurve(drawn.source)}
          />
        )}
      </td>
    </tr>
  );
}

type BadProps = Pick<RowProps, "store" | "drawn" | "line" | "isShown">;

/** How often the tensor was bad; leads to the first time that is drawn. */
function BadCell({ store, drawn, line, isShown }: BadProps) {
  const { num_bad: bad } = drawn.curve;
  const first = line.bad?.indexOf(true) ?? -1;
  if (first < 0) return <td class={bad > 0 ? "bad" : ""}>{grouped(bad)}</td>;
  return (
    <td class="bad">
      <Button
        title="Go to the first one that is drawn"
        testId="curve-first-bad"
        act={() => store.goToPoint(drawn, first, isShown)}
        text={`✕ ${grouped(bad)}`}
      />
    </td>
  );
}
