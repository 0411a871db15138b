/** The tensor in focus in both runs: its histories with one scale, their difference, and its numbers. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Histories } from "../../api/comparison";
import { shown } from "../../base/loaded";
import { grouped } from "../../base/text";
import { sideName } from "../../model/comparison";
import { AXES } from "../../model/curves";
import { titleOf } from "../../model/runs";
import {
  apartWords,
  availableNumbers,
  differenceLines,
  type HistoryNumber,
  NUMBER_WORDS,
  rowCount,
  rowInFocus,
  twoLines,
} from "../../model/two_histories";
import { Chart } from "../chart/chart";
import { Choice } from "../choice";
import { TensorName } from "../numbers";
import { Failure, Hint } from "../panel";
import type { Of, With } from "../props";
import { OccurrenceSlider } from "../values/history";
import { Part } from "./part";
import { Sides } from "./sides";

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

type BothProps = With<"comparison" | "run" | "runs" | typeof Chart, { histories: Histories }>;

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
      {isSeries && <DifferencePicture store={store} histories={histories} />}
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
  const runs = shown(store.runs.value);
  const [first, second] = [store.run.value, store.comparison.other.value].map((run) =>
    run === undefined ? "" : titleOf(runs, run),
  );
  const lines = useMemo(
    () => twoLines(histories, name, [first ?? "", second ?? ""]),
    [histories, name, first, second],
  );
  return (
    <figure class="two-curves">
      <Chart
        store={store}
        label={`${NUMBER_WORDS[name]} over time`}
        lines={lines}
        now={histories.occurrence === undefined ? undefined : histories.occurrence + AXES.occurrence.offset}
        place={AXES.occurrence.place}
        pick={(x) => goTo(store, histories, x)}
        testId="two-curves"
      />
      <figcaption class="two-legend slim wrap">
        <span class="run-first">━ {first}</span>
        <span class="run-second">┅ {second}</span>
        <span class="bad">✕ differs by more than the tolerance</span>
      </figcaption>
    </figure>
  );
}

/** Goes to the occurrence at a place of the chart. */
function goTo({ comparison }: Of<"comparison.goToRow">, histories: Histories, x: number): void {
  const row = histories.columns.get("occurrence")?.indexOf(x - AXES.occurrence.offset) ?? -1;
  if (row >= 0) comparison.goToRow(histories, row);
}

/** The relative difference of each occurrence, and the tolerance. */
function DifferencePicture({ store, histories }: BothProps) {
  const lines = useMemo(() => differenceLines(histories), [histories]);
  if (lines.length === 0) return null;
  return (
    <figure class="two-curves">
      <Chart
        store={store}
        label="Relative difference and tolerance over time, on a logarithmic scale"
        lines={lines}
        isLog={true}
        place={AXES.occurrence.place}
        pick={(x) => goTo(store, histories, x)}
        testId="difference-curve"
      />
      <figcaption class="dim">difference, and tolerance (dotted)</figcaption>
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
