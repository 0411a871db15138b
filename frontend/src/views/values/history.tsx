/** The occurrences of the tensor over time: a slider that goes through them, and the curve of one element. */
import { useState } from "preact/hooks";
import { type ColumnPage, numberAt } from "../../api/columns";
import type { ValueRef } from "../../api/values";
import { executionIndex, graphExecutionIndex } from "../../base/ids";
import { shown } from "../../base/loaded";
import { clock, grouped, shortNumber, significant } from "../../base/text";
import { type HistoryCurve, historyCurve } from "../../model/values/history";
import { writeRef } from "../../model/values/value_ref";
import type { ValueView } from "../../model/values/view";
import type { Store } from "../../store/store";
import { useChange } from "../hooks";
import { Failure } from "../panel";

interface HistoryProps {
  readonly store: Store;
  readonly view: ValueView;
}

/** The slider. It shows where the reader drags it, also while that occurrence is loading. */
export function TimeSlider({ store, view }: HistoryProps) {
  const { occurrence, num_occurrences: total } = view.info;
  const [dragged, setDragged] = useState<number | undefined>(undefined);
  useChange(() => setDragged(undefined), [occurrence, writeRef(view.ref)]);
  const page = shown(store.valueHistory.value);
  const at = dragged ?? occurrence;
  const go = (to: number) => {
    const ref = page && refAt(page, view.ref, to);
    setDragged(to);
    if (ref === undefined) store.seekHistory(to);
    else store.showOccurrence(ref);
  };
  // The page with the occurrence that the reader wants has arrived.
  useChange(() => {
    if (dragged !== undefined && store.valueHistory.value?.kind === "ready") go(dragged);
  }, [page]);
  return <OccurrenceSlider at={at} total={total} go={go} />;
}

interface SliderProps {
  readonly at: number;
  readonly total: number;
  readonly go: (to: number) => void;
  /** "5 of 12", if that is not the position among those listed. */
  readonly words?: string;
  readonly testId?: string;
}

/** Goes through the times that a tensor was computed; nothing when there is only one. */
export function OccurrenceSlider({ at, total, go, words, testId = "value-time" }: SliderProps) {
  const place = words ?? `${grouped(at + 1)} of ${grouped(total)}`;
  if (total <= 1) return null;
  return (
    <div class="time-slider">
      <StepButton label="Earlier occurrence" text="‹" off={at <= 0} act={() => go(at - 1)} />
      <input
        type="range"
        min={0}
        max={total - 1}
        value={at}
        aria-label="Occurrence"
        aria-valuetext={place}
        data-testid={testId}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <StepButton label="Later occurrence" text="›" off={at >= total - 1} act={() => go(at + 1)} />
      <span class="position" data-testid="value-occurrence">
        {place}
      </span>
    </div>
  );
}

interface StepProps {
  readonly label: string;
  readonly text: string;
  readonly off: boolean;
  readonly act: () => void;
}

function StepButton({ label, text, off, act }: StepProps) {
  return (
    <button type="button" class="icon" aria-label={label} title={label} disabled={off} onClick={act}>
      {text}
    </button>
  );
}

/** The record of an occurrence; undefined when it is not on the page that was fetched. */
function refAt(page: ColumnPage, ref: ValueRef, occurrence: number): ValueRef | undefined {
  const index = numberAt(page, "index", occurrence - page.begin);
  if (index === undefined || ref.kind === "live") return undefined;
  return ref.kind === "graph_execution"
    ? { kind: ref.kind, index: graphExecutionIndex(index) }
    : { kind: ref.kind, index: executionIndex(index), slot: ref.slot };
}

const WIDTH = 300;
const HEIGHT = 70;

export function HistoryPart({ store, view }: HistoryProps) {
  const loaded = store.valueHistory.value;
  const page = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (page === undefined || page.total <= 1) return null;
  const element = store.valueElement.value;
  const curve = historyCurve(page, WIDTH, HEIGHT);
  const now = view.info.occurrence - page.begin;
  return (
    <figure class="value-history" data-testid="value-history">
      <figcaption>
        <b>History</b>{" "}
        <span class="dim">{element === undefined ? "click an element to see it over time" : element}</span>
      </figcaption>
      <Occurrences curve={curve} now={now} n={page.end - page.begin} />
      <p class="dim value-ends">
        <span>{clock(numberAt(page, "wall_time", 0) ?? 0)}</span>
        <span data-testid="value-now">{nowWords(page, now)}</span>
        <span>{clock(numberAt(page, "wall_time", page.end - page.begin - 1) ?? 0)}</span>
      </p>
    </figure>
  );
}

/** The value of the element at the occurrence that is shown. */
function nowWords(page: ColumnPage, now: number): string {
  const value = page.columns.get("value")?.[now];
  return value === undefined ? "" : shortNumber(value);
}

interface OccurrencesProps {
  readonly curve: HistoryCurve;
  /** The occurrence that is shown, and the number of occurrences. */
  readonly now: number;
  readonly n: number;
}

function Occurrences({ curve, now, n }: OccurrencesProps) {
  const x = ((now + 0.5) / n) * WIDTH;
  const isSeen = now >= 0 && now < n;
  const { low, high } = curve.range ?? {};
  const label =
    low === undefined || high === undefined
      ? "Occurrences, good and bad"
      : `The element over time, from ${significant(low)} to ${significant(high)}`;
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
      <path class="history-good" d={curve.good} />
      <path class="history-bad" d={curve.bad} />
      <path class="history-line" d={curve.line} />
      <path class="history-nan" d={curve.notFinite} />
      {isSeen && <path class="history-now" d={`M${x.toFixed(1)},0v${HEIGHT}`} />}
    </svg>
  );
}
