/** The occurrences of the tensor over time: a slider that goes through them, and the curve of one element. */
import { useMemo, useState } from "preact/hooks";
import { type ColumnPage, numberAt } from "../../api/columns";
import type { ValueRef } from "../../api/values";
import { executionIndex, graphExecutionIndex } from "../../base/ids";
import { shown } from "../../base/loaded";
import { clock, counted, grouped, shortNumber } from "../../base/text";
import { changesOf, changesText, recordOf } from "../../model/changed_values";
import type { ChartMark } from "../../model/chart";
import { AXES } from "../../model/curves";
import { historyLine } from "../../model/values/history";
import { writeRef } from "../../model/values/value_ref";
import type { ValueView } from "../../model/values/view";
import { Chart } from "../chart/chart";
import { useChange } from "../hooks";
import { Failure, IconButton } from "../panel";
import type { Of, With } from "../props";

type Uses = "status" | "valueElement" | "valueHistory" | "seekHistory" | "showOccurrence" | typeof Chart;

type HistoryProps = With<Uses, { view: ValueView }>;

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
    <div class="time-slider line">
      <IconButton label="Earlier occurrence" text="‹" off={at <= 0} act={() => go(at - 1)} />
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
      <IconButton label="Later occurrence" text="›" off={at >= total - 1} act={() => go(at + 1)} />
      <span class="position" data-testid="value-occurrence">
        {place}
      </span>
    </div>
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

/** Changes that are told in words. */
const MOST_MARKS = 4;

/** The element in focus over time, and where the tensor is bad. */
export function HistoryPart({ store, view }: HistoryProps) {
  const loaded = store.valueHistory.value;
  const page = shown(loaded);
  const element = store.valueElement.value;
  const lines = useMemo(() => (page === undefined ? [] : [historyLine(page, element)]), [page, element]);
  const changes = store.status.value?.changed_values;
  const marks = useMemo(
    () => (page === undefined ? [] : changedOn(store, page, view)),
    [page, view, changes],
  );
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (page === undefined || page.total <= 1) return null;
  const go = (x: number) => {
    const ref = refAt(page, view.ref, x - AXES.occurrence.offset);
    if (ref !== undefined) store.showOccurrence(ref);
  };
  return (
    <figure class="value-history" data-testid="value-history">
      <figcaption>
        <b>History</b>{" "}
        <span class="dim">{element === undefined ? "click an element to see it over time" : element}</span>
      </figcaption>
      <Chart
        store={store}
        label={marks.length === 0 ? "History" : `History; ${counted(marks.length, "value")} changed`}
        lines={lines}
        marks={marks}
        now={view.info.occurrence + AXES.occurrence.offset}
        place={AXES.occurrence.place}
        pick={go}
        isSmall={true}
        testId="value-chart"
      />
      <Marks marks={marks} />
      <Ends page={page} now={view.info.occurrence - page.begin} />
    </figure>
  );
}

/** The first changes in words. */
function Marks({ marks }: { readonly marks: readonly ChartMark[] }) {
  return (
    <>
      {marks.slice(0, MOST_MARKS).map(({ x, words }) => (
        <p key={x} class="history-changed cut" title={words} data-testid="history-changed">
          {AXES.occurrence.place(x)}: {words}
        </p>
      ))}
    </>
  );
}

/** The times at both ends, and the value of the element at the occurrence that is shown. */
function Ends({ page, now }: { readonly page: ColumnPage; readonly now: number }) {
  const value = page.columns.get("value")?.[now];
  return (
    <p class="dim value-ends">
      <span>{clock(numberAt(page, "wall_time", 0) ?? 0)}</span>
      <span data-testid="value-now">{value === undefined ? "" : shortNumber(value)}</span>
      <span>{clock(numberAt(page, "wall_time", page.end - page.begin - 1) ?? 0)}</span>
    </p>
  );
}

/** The occurrences whose values were changed at a breakpoint. */
function changedOn(store: Of<"status">, page: ColumnPage, { ref }: ValueView): readonly ChartMark[] {
  const all = store.status.value?.changed_values ?? [];
  if (all.length === 0) return [];
  return Array.from({ length: page.end - page.begin }, (_, at) => {
    const one = refAt(page, ref, page.begin + at);
    const changes = one === undefined || one.kind === "live" ? [] : changesOf(all, recordOf(one));
    return {
      x: page.begin + at + AXES.occurrence.offset,
      words: changes.length === 0 ? "" : changesText(changes),
    };
  }).filter(({ words }) => words !== "");
}
