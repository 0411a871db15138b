/** A chart of lines: hover and arrow keys read it, a click or Enter chooses a point, dragging zooms. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { sentence } from "../../base/loaded";
import {
  type ChartLine,
  type ChartMark,
  lineWords,
  nearestPoint,
  scaleFor,
  stepOfKey,
  stepped,
  valueWords,
} from "../../model/chart";
import { useSize } from "../hooks";
import { Failure } from "../panel";
import type { With } from "../props";
import { usePalette } from "../values/palette";
import type { Plotter } from "./plotter";

interface ChartProps extends With<"track"> {
  readonly label: string;
  readonly lines: readonly ChartLine[];
  readonly marks?: readonly ChartMark[];
  readonly isLog?: boolean;
  readonly isTime?: boolean;
  readonly now?: number | undefined;
  /** Without axes and without a cursor. */
  readonly isSmall?: boolean;
  /** "occurrence 12", for a place on the axis. */
  readonly place?: (x: number) => string;
  readonly hover?: (x: number | undefined) => void;
  /** A click on a point. */
  readonly pick?: (x: number) => void;
  /** Without it, there is no zoom; no range means all. */
  readonly zoom?: (range: { readonly from: number; readonly to: number } | undefined) => void;
  readonly testId: string;
}

const NO_MARKS: readonly ChartMark[] = [];
const FLAT = { isLog: false, isTime: false, isSmall: false, marks: NO_MARKS };

export function Chart(props: ChartProps) {
  const { label, lines, testId, isSmall = false } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<number | undefined>(undefined);
  const { plotter, failure } = usePlotter(props, frame, setCursor);
  const words = [label, ...lines.map(lineWords)].join(". ");
  const onKey = (event: KeyboardEvent) => takeKey(event, props, cursor, plotter);
  return (
    <figure class={`chart slim ${isSmall ? "chart-small" : "short grow"}`}>
      <div
        ref={frame}
        class="chart-frame"
        role="application"
        aria-label={`${words}. The arrow keys move along it, Enter chooses.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys are its own.
        tabIndex={0}
        data-testid={testId}
        data-drawn={plotter !== undefined}
        onKeyDown={onKey}
      />
      {failure !== undefined && <Failure message={`The chart could not be loaded. ${failure}`} />}
      <p class="chart-words mono dim cut" role="status" data-testid={`${testId}-words`}>
        {cursor === undefined ? "" : cursorWords(props, cursor)}
      </p>
    </figure>
  );
}

/** "occurrence 12 · a 0.31 · b 4 ✕". */
function cursorWords({ lines, place = String }: ChartProps, x: number): string {
  const parts = lines.map((line) => {
    const point = nearestPoint(line, x);
    const isBad = point !== undefined && line.bad?.[point] === true;
    return `${lines.length > 1 ? `${line.label} ` : ""}${valueWords(line, point)}${isBad ? " ✕" : ""}`;
  });
  return [place(x), ...parts].join(" · ");
}

/** The drawing, which is made once its code is there, and follows the properties. */
function usePlotter(
  props: ChartProps,
  frame: { readonly current: HTMLElement | null },
  setCursor: (x: number | undefined) => void,
) {
  const latest = useRef(props);
  latest.current = props;
  const [plotter, setPlotter] = useState<Plotter>();
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    let made: Plotter | undefined;
    let isGone = false;
    const events = {
      hover: (x: number | undefined) => {
        setCursor(x);
        latest.current.hover?.(x);
      },
      pick: (x: number) => latest.current.pick?.(x),
      zoom: (from: number, to: number) => latest.current.zoom?.({ from, to }),
      reset: () => latest.current.zoom?.(undefined),
    };
    latest.current.store
      .track(import("./plotter"))
      .then(({ createPlotter }) => {
        if (isGone || frame.current === null) return;
        made = createPlotter(frame.current, events);
        setPlotter(made);
      })
      .catch((error: unknown) => setFailure(sentence(error)));
    return () => {
      isGone = true;
      made?.destroy();
    };
  }, []);
  useDrawing(plotter, props, frame);
  return { plotter, failure };
}

function useDrawing(
  plotter: Plotter | undefined,
  props: ChartProps,
  frame: { readonly current: HTMLElement | null },
): void {
  const { lines, isLog, isTime, isSmall, marks, now } = { ...FLAT, ...props };
  const { width, height } = useSize(frame);
  const inks = usePalette();
  const scale = useMemo(() => scaleFor(lines, isLog), [lines, isLog]);
  useEffect(() => {
    if (width > 0 && height > 0)
      plotter?.draw({ lines, marks, scale, isTime, isSmall, now, inks, width, height });
  }, [plotter, lines, marks, scale, isTime, isSmall, now, inks, width, height]);
}

const ZOOMS: Readonly<Record<string, number>> = { "+": 0.25, "=": 0.25, "-": 1 };

function takeKey(
  event: KeyboardEvent,
  { lines, pick, zoom }: ChartProps,
  cursor: number | undefined,
  plotter: Plotter | undefined,
): void {
  const line = lines[0];
  if (line === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = stepOfKey(event.key, line.x.length);
  const reach = ZOOMS[event.key];
  if (step !== undefined) plotter?.point(stepped(line, cursor, step));
  else if (event.key === "Enter" && cursor !== undefined) pick?.(cursor);
  else if (event.key === "0") zoom?.(undefined);
  else if (reach !== undefined) zoom?.(around(line, cursor, reach));
  else return;
  event.preventDefault();
}

/** A range around the cursor: a share of what is seen to each side. */
function around({ x }: ChartLine, cursor: number | undefined, reach: number) {
  const [first = 0, last = 0] = [x[0], x.at(-1)];
  const middle = cursor ?? (first + last) / 2;
  const half = (last - first) * reach;
  return { from: middle - half, to: middle + half };
}
