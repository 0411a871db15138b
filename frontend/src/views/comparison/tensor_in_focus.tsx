/** The tensor in focus in both runs: its histories with one scale, their difference, and its numbers. */
import type { ComponentChildren } from "preact";
import type { Histories } from "../../api/comparison";
import { shown } from "../../base/loaded";
import { grouped, shortNumber } from "../../base/text";
import { sideName } from "../../model/comparison";
import { titleOf } from "../../model/runs";
import {
  apartWords,
  availableNumbers,
  differenceCurve,
  type HistoryNumber,
  NUMBER_WORDS,
  pictureWords,
  rowCount,
  rowInFocus,
  twoCurves,
} from "../../model/two_histories";
import { Choice } from "../choice";
import { TensorName } from "../numbers";
import { Failure, Hint } from "../panel";
import type { With } from "../props";
import { OccurrenceSlider } from "../values/history";
import { Part } from "./part";
import { Sides } from "./sides";

const SIZE = { width: 400, height: 84 } as const;
const LOW = { width: 400, height: 40 } as const;

export function TensorInFocus({ store }: With<"comparison" | typeof Both>) {
  const loaded = store.comparison.histories.value;
  const histories = shown(loaded);
  return (
    <Part name="focus" label="The tensor in focus in both runs" isBusy={loaded?.kind === "loading"}>
      {loaded === undefined && <Hint>Choose a tensor that is on record to see it in both runs.</Hint>}
      {loaded?.kind === "failed" && <Failure message={loaded.message} />}
      {loaded?.kind === "loading" && histories === undefined && <Hint>Loading …</Hint>}
      {histories !== undefined && <Both store={store} histories={histories} />}
    </Part>
  );
}

type BothProps = With<"comparison" | "run" | "runs", { histories: Histories }>;

function Both({ store, histories }: BothProps) {
  const { first, second } = histories;
  const other = store.comparison.other.value;
  if (second === undefined || histories.total === 0)
    return (
      <>
        <Head name={sideName(first)} />
        <Hint>
          {other === undefined ? "The other run" : titleOf(shown(store.runs.value), other)} has no such tensor
          on record.
        </Hint>
      </>
    );
  return (
    <>
      <Pictures store={store} histories={histories} />
      <Sides store={store} first={first} second={second} />
    </>
  );
}

function Head({ name, children }: { readonly name: string; readonly children?: ComponentChildren }) {
  return (
    <header class="compare-head line ends">
      <h3>
        <TensorName name={name} />
      </h3>
      {children}
    </header>
  );
}

function Pictures({ store, histories }: BothProps) {
  const numbers = availableNumbers(histories);
  const wanted = store.comparison.number.value;
  const name = numbers.find((each) => each === wanted) ?? numbers[0];
  const isSeries = rowCount(histories) > 1;
  return (
    <>
      <Head name={sideName(histories.first)}>
        {name !== undefined && isSeries && <NumberChoice store={store} numbers={numbers} name={name} />}
      </Head>
      {name === undefined && <Hint>Neither run has numbers of it on record.</Hint>}
      {name !== undefined && isSeries && <Curves store={store} histories={histories} name={name} />}
      {isSeries && <DifferencePicture histories={histories} />}
      <p class="dim" data-testid="histories-apart">
        {apartWords(histories)}
        {histories.is_unordered && " (they may change places: threads or turns of a loop)"}
      </p>
      <Times store={store} histories={histories} />
    </>
  );
}

type ChoiceProps = With<"comparison", { numbers: readonly HistoryNumber[]; name: HistoryNumber }>;

function NumberChoice({ store, numbers, name }: ChoiceProps) {
  return (
    <Choice
      options={numbers.map((value) => ({ value, title: NUMBER_WORDS[value] }))}
      value={name}
      choose={(number) => store.comparison.draw(number)}
      label="The number that is drawn"
      testId="history-number"
    />
  );
}

interface CurvesProps extends BothProps {
  readonly name: HistoryNumber;
}

function Curves({ store, histories, name }: CurvesProps) {
  const { first, second, apart, range, now } = twoCurves(histories, name, SIZE);
  return (
    <figure class="two-curves">
      <svg
        role="img"
        aria-label={pictureWords(histories, name)}
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        preserveAspectRatio="none"
        data-testid="two-curves"
      >
        <path class="history-line" d={first} data-testid="curve-first" />
        <path class="history-line history-other" d={second} data-testid="curve-second" />
        <path class="history-bad" d={apart} />
        {now !== undefined && <path class="history-now" d={`M${now},0V${SIZE.height}`} />}
      </svg>
      <figcaption class="value-ends dim">
        <Legend store={store} />
        <span>{range && `${shortNumber(range.low)} … ${shortNumber(range.high)}`}</span>
      </figcaption>
    </figure>
  );
}

function Legend({ store }: With<"comparison" | "run" | "runs">) {
  const runs = shown(store.runs.value);
  const [run, other] = [store.run.value, store.comparison.other.value];
  return (
    <span class="two-legend slim wrap">
      <span class="run-first">━ {run && titleOf(runs, run)}</span>
      <span class="run-second">┅ {other && titleOf(runs, other)}</span>
    </span>
  );
}

/** The relative difference of each occurrence, and the tolerance. */
function DifferencePicture({ histories }: Pick<BothProps, "histories">) {
  const { difference, tolerance, range } = differenceCurve(histories, LOW);
  if (range === undefined) return null;
  const ends = `${shortNumber(range.low)} … ${shortNumber(range.high)}`;
  return (
    <figure class="two-curves">
      <svg
        role="img"
        aria-label={`Relative difference and tolerance over time, on a logarithmic scale, from ${ends}`}
        viewBox={`0 0 ${LOW.width} ${LOW.height}`}
        preserveAspectRatio="none"
        data-testid="difference-curve"
      >
        <path class="history-tolerance" d={tolerance} />
        <path class="history-line history-difference" d={difference} />
      </svg>
      <figcaption class="value-ends dim">
        <span>difference, and tolerance (dotted)</span>
        <span>{ends}</span>
      </figcaption>
    </figure>
  );
}

/** Goes through the occurrences; the page follows. */
function Times({ store, histories }: BothProps) {
  const at = rowInFocus(histories);
  const rows = histories.columns.get("occurrence");
  if (rows === undefined || at === undefined)
    return <p class="dim">The occurrence in focus has no partner in the other run.</p>;
  const words = `${grouped((rows[at] ?? 0) + 1)} of ${grouped(histories.total)}`;
  const go = (row: number) => store.comparison.goToRow(histories, row);
  return <OccurrenceSlider at={at} total={rows.length} words={words} go={go} testId="comparison-time" />;
}
