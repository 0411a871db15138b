/** The timeline: all executions in order, one box each, and below them the execution in focus. */
import { useRef, useState } from "preact/hooks";
import { executionIndex } from "../base/ids";
import { shown } from "../base/loaded";
import { grouped } from "../base/text";
import { type Window, windowAround, windowAt } from "../model/minimap";
import { displayName, initial } from "../model/names";
import { type ExecutionRow, executionRow } from "../model/rows";
import type { Store } from "../store/store";
import { ExecutionCard } from "./execution_card";
import { BOX } from "./geometry";
import { useChange, useSize } from "./hooks";
import { Minimap } from "./minimap";
import { Failure, Panel } from "./panel";

export function Timeline({ store }: { readonly store: Store }) {
  const pages = store.lists.value?.executions;
  const total = pages?.total.value ?? 0;
  void pages?.edition.value;
  const track = useRef<HTMLDivElement>(null);
  const { width } = useSize(track);
  const fit = Math.max(1, Math.floor(width / (BOX.width + BOX.gap)));
  const [requested, setRequested] = useState(0);
  const window = windowAt(requested, fit, total);
  const focus = store.execution.value;
  const scroll = (begin: number) => setRequested(windowAt(begin, fit, total).begin);

  useChange(() => {
    if (focus !== undefined && width > 0) setRequested(windowAround(focus, window, fit, total).begin);
  }, [focus, store.alert.value, width > 0, total > 0]);
  useChange(() => pages?.want(window.begin, window.end), [pages, window.begin, window.end]);
  useChange(() => {
    store.timelineBuckets.value = Math.min(4096, Math.max(0, Math.floor(width)));
  }, [width]);

  const step = (to: number) => {
    if (total > 0) store.focusExecution(executionIndex(Math.max(0, Math.min(total - 1, to))));
  };
  const key = (event: KeyboardEvent) => {
    const from = focus ?? window.begin;
    const to = {
      ArrowLeft: from - 1,
      ArrowRight: from + 1,
      PageUp: from - fit,
      PageDown: from + fit,
      Home: 0,
      End: total - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    step(to);
  };
  const failure = pages?.failure.value;
  return (
    <Panel title="Python execution timeline" className="timeline" note={grouped(total)} tools={<Legend />}>
      <div class="timeline-bar">
        <Nav label="Back one page" text="«" off={window.begin === 0} act={() => scroll(window.begin - fit)} />
        <Nav label="Back one" text="‹" off={window.begin === 0} act={() => scroll(window.begin - 1)} />
        <div class="timeline-track" ref={track}>
          <div
            class="timeline-boxes"
            role="listbox"
            aria-label="Executions"
            aria-orientation="horizontal"
            tabIndex={0}
            aria-activedescendant={
              focus !== undefined && focus >= window.begin && focus < window.end ? `box-${focus}` : undefined
            }
            onKeyDown={key}
            onWheel={(event) =>
              scroll(window.begin + Math.sign(event.deltaY + event.deltaX) * Math.max(1, Math.round(fit / 8)))
            }
          >
            {boxes(window).map((index) => {
              const page = pages?.at(index);
              return (
                <Box
                  key={index}
                  index={index}
                  row={page && executionRow(page, index - page.begin)}
                  focused={index === focus}
                  host={store.filter.value.host}
                  act={step}
                />
              );
            })}
          </div>
          <Minimap
            label="Part of the timeline that is seen"
            axis="x"
            length={width}
            overview={shown(store.timelineOverview.value)}
            total={total}
            begin={window.begin}
            end={window.end}
            focus={focus}
            onSeek={(row) => scroll(row - fit / 2)}
          />
        </div>
        <Nav label="On one" text="›" off={window.end >= total} act={() => scroll(window.begin + 1)} />
        <Nav label="On one page" text="»" off={window.end >= total} act={() => scroll(window.begin + fit)} />
        <span class="position">
          {total === 0 ? "none" : `${grouped(window.begin)}–${grouped(window.end - 1)}`}
          <br />
          <span class="dim">of {grouped(total)}</span>
        </span>
      </div>
      {failure !== undefined && <Failure message={failure} />}
      <ExecutionCard store={store} />
    </Panel>
  );
}

function boxes({ begin, end }: Window): readonly number[] {
  return Array.from({ length: Math.max(0, end - begin) }, (_, i) => begin + i);
}

interface BoxProps {
  readonly index: number;
  readonly row: ExecutionRow | undefined;
  readonly focused: boolean;
  /** Boxes of other hosts are paler. */
  readonly host: string | undefined;
  readonly act: (index: number) => void;
}

function Box({ index, row, focused, host, act }: BoxProps) {
  const kind = row === undefined ? "loading" : row.isFunction ? "function" : "op";
  const health = row?.health === "bad" ? "box-bad" : row?.inner === "bad" ? "box-inner-bad" : "";
  return (
    <div
      id={`box-${index}`}
      class={`box box-${kind} ${health} ${host !== undefined && row?.host !== host ? "box-other" : ""}`}
      role="option"
      aria-selected={focused}
      tabIndex={-1}
      aria-label={boxWords(index, row)}
      title={boxWords(index, row)}
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
    row.health === "bad" ? ", output has NaN or ∞" : row.inner === "bad" ? ", NaN or ∞ inside" : "";
  return `#${index} ${kind}${displayName(row.opType)}${health}`;
}

function Nav({
  label,
  text,
  off,
  act,
}: {
  readonly label: string;
  readonly text: string;
  readonly off: boolean;
  readonly act: () => void;
}) {
  return (
    <button type="button" class="icon" title={label} aria-label={label} disabled={off} onClick={act}>
      {text}
    </button>
  );
}

function Legend() {
  return (
    <div class="legend dim" aria-hidden="true">
      <span>
        <i class="box box-op" /> op
      </span>
      <span>
        <i class="box box-function" /> function
      </span>
      <span>
        <i class="box box-function box-inner-bad" /> NaN/∞ inside
      </span>
      <span>
        <i class="box box-op box-bad" /> NaN/∞ output
      </span>
    </div>
  );
}
