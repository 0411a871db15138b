/** The timeline: all executions in order, one box each, and below them the execution in focus. */
import { useMemo, useRef, useState } from "preact/hooks";
import type { ChangedValue } from "../api/answers";
import type { ColumnPage } from "../api/columns";
import { executionIndex } from "../base/ids";
import { shown } from "../base/loaded";
import { grouped } from "../base/text";
import { changesByExecution, changesText } from "../model/changed_values";
import { type KeySteps, rowOfKey } from "../model/keys";
import { type Window, windowAround, windowAt } from "../model/minimap";
import { displayName, initial } from "../model/names";
import { type ExecutionRow, executionRow } from "../model/rows";
import type { Pages } from "../store/common/pages";
import { ExecutionCard } from "./execution_card";
import { BOX } from "./geometry";
import { useChange, useSize } from "./hooks";
import { Minimap } from "./minimap";
import { Failure, IconButton, Panel } from "./panel";
import type { Of, Takes, With } from "./props";

type Uses = Takes<
  "alert" | "execution" | "lists" | "shownProcess" | "status" | "timelineOverview",
  "focusExecution" | "timelineBuckets",
  typeof ExecutionCard
>;

export function Timeline({ store }: With<Uses>) {
  const total = store.lists.value?.executions.total.value ?? 0;
  const failure = store.lists.value?.executions.failure.value;
  const isChanged = (store.status.value?.changed_values.length ?? 0) > 0;
  return (
    <Panel
      title="Python execution timeline"
      className="timeline"
      note={grouped(total)}
      tools={<Legend isChanged={isChanged} />}
    >
      <Bar store={store} total={total} />
      {failure !== undefined && <Failure message={failure} />}
      <ExecutionCard store={store} />
    </Panel>
  );
}

type BarProps = With<Uses, { total: number }>;

/** The boxes between the buttons that scroll them. */
function Bar({ store, total }: BarProps) {
  const track = useRef<HTMLDivElement>(null);
  const { width } = useSize(track);
  const { window, fit, scroll } = useWindow(store, width, total);
  const { begin, end } = window;
  return (
    <div class="timeline-bar fixed">
      <IconButton label="Back one page" text="«" off={begin === 0} act={() => scroll(begin - fit)} />
      <IconButton label="Back one" text="‹" off={begin === 0} act={() => scroll(begin - 1)} />
      <div class="slim grow" ref={track}>
        <Boxes store={store} total={total} window={window} fit={fit} scroll={scroll} />
        <Minimap
          label="Part of the timeline that is seen"
          axis="x"
          length={width}
          overview={shown(store.timelineOverview.value)}
          total={total}
          begin={begin}
          end={end}
          focus={store.execution.value}
          onSeek={(row) => scroll(row - fit / 2)}
        />
      </div>
      <IconButton label="On one" text="›" off={end >= total} act={() => scroll(begin + 1)} />
      <IconButton label="On one page" text="»" off={end >= total} act={() => scroll(begin + fit)} />
      <span class="position">
        {total === 0 ? "none" : `${grouped(begin)}–${grouped(end - 1)}`}
        <br />
        <span class="dim">of {grouped(total)}</span>
      </span>
    </div>
  );
}

interface WindowView {
  readonly window: Window;
  /** The number of boxes that fit. */
  readonly fit: number;
  readonly scroll: (begin: number) => void;
}

/** The window of boxes in a track of some width. It follows the focus, and its rows are fetched. */
function useWindow(store: Of<Uses>, width: number, total: number): WindowView {
  const pages = store.lists.value?.executions;
  const focus = store.execution.value;
  const fit = Math.max(1, Math.floor(width / (BOX.width + BOX.gap)));
  const [requested, setRequested] = useState(0);
  const window = windowAt(requested, fit, total);
  useChange(() => {
    if (focus !== undefined && width > 0) setRequested(windowAround(focus, window, fit, total).begin);
  }, [focus, store.alert.value, width > 0, total > 0]);
  useChange(() => pages?.want(window.begin, window.end), [pages, window.begin, window.end]);
  useChange(() => {
    store.timelineBuckets.value = Math.min(4096, Math.max(0, Math.floor(width)));
  }, [width]);
  return { window, fit, scroll: (begin) => setRequested(windowAt(begin, fit, total).begin) };
}

interface BoxesProps extends BarProps, WindowView {}

function Boxes({ store, total, window, fit, scroll }: BoxesProps) {
  const pages = store.lists.value?.executions;
  void pages?.edition.value;
  const focus = store.execution.value;
  const isSeen = focus !== undefined && focus >= window.begin && focus < window.end;
  const all = store.status.value?.changed_values;
  const changed = useMemo(() => changesByExecution(all ?? []), [all]);
  const step = (to: number) => {
    if (total > 0) store.focusExecution(executionIndex(Math.max(0, Math.min(total - 1, to))));
  };
  const notch = Math.max(1, Math.round(fit / 8));
  return (
    <div
      class="timeline-boxes"
      role="listbox"
      aria-label="Executions"
      aria-orientation="horizontal"
      tabIndex={0}
      aria-activedescendant={isSeen ? `box-${focus}` : undefined}
      onKeyDown={(event) =>
        stepByKey(event, { from: focus ?? window.begin, page: fit, last: total - 1 }, step)
      }
      onWheel={(event) => scroll(window.begin + Math.sign(event.deltaY + event.deltaX) * notch)}
    >
      {boxes(window).map((index) => (
        <Box
          key={index}
          index={index}
          row={rowAt(pages, index)}
          changes={changed.get(index) ?? []}
          focused={index === focus}
          host={store.shownProcess.value}
          act={step}
        />
      ))}
    </div>
  );
}

/** Undefined while it is loading. */
function rowAt(pages: Pages<ColumnPage> | undefined, index: number): ExecutionRow | undefined {
  const page = pages?.at(index);
  return page && executionRow(page, index - page.begin);
}

function stepByKey(event: KeyboardEvent, at: Omit<KeySteps, "arrows">, step: (to: number) => void): void {
  const to = rowOfKey(event.key, { ...at, arrows: "across" });
  if (to === undefined) return;
  event.preventDefault();
  step(to);
}

function boxes({ begin, end }: Window): readonly number[] {
  return Array.from({ length: Math.max(0, end - begin) }, (_, i) => begin + i);
}

interface BoxProps {
  readonly index: number;
  readonly row: ExecutionRow | undefined;
  /** What a debugger changed in it. */
  readonly changes: readonly ChangedValue[];
  readonly focused: boolean;
  /** Boxes of other hosts are paler. */
  readonly host: string | undefined;
  readonly act: (index: number) => void;
}

function Box({ index, row, changes, focused, host, act }: BoxProps) {
  const kind = row === undefined ? "loading" : row.isFunction ? "function" : "op";
  const health = row?.health === "bad" ? "box-bad" : row?.callHealth === "bad" ? "box-inner-bad" : "";
  const words = boxWords(index, row) + (changes.length === 0 ? "" : `\n${changesText(changes)}`);
  return (
    <div
      id={`box-${index}`}
      class={`box fixed box-${kind} ${health} ${changes.length > 0 ? "box-changed" : ""} ${host !== undefined && row?.host !== host ? "box-other" : ""}`}
      role="option"
      aria-selected={focused}
      tabIndex={-1}
      aria-label={words}
      title={words}
      data-testid="timeline-box"
      data-index={index}
      onClick={() => act(index)}
    >
      {row === undefined ? "·" : initial(row.opType)}
    </div>
  );
}

function boxWords(index: number, row: ExecutionRow | undefined): string {
  if (row === undefined) return `#${index}, loading`;
  const kind = row.isFunction ? "function " : "";
  const health =
    row.health === "bad" ? ", output has NaN or ∞" : row.callHealth === "bad" ? ", NaN or ∞ inside" : "";
  return `#${index} ${kind}${displayName(row.opType)}${health}`;
}

const LEGEND = [
  { look: "box-op", words: "op" },
  { look: "box-function", words: "function" },
  { look: "box-function box-inner-bad", words: "NaN/∞ inside" },
  { look: "box-op box-bad", words: "NaN/∞ output" },
  { look: "box-op box-changed", words: "value changed" },
] as const;

function Legend({ isChanged }: { readonly isChanged: boolean }) {
  return (
    <div class="legend nowrap dim" aria-hidden="true">
      {LEGEND.slice(0, isChanged ? undefined : -1).map(({ look, words }) => (
        <span key={words}>
          <i class={`box fixed ${look}`} /> {words}
        </span>
      ))}
    </div>
  );
}
