/**
 * A whole list in a few hundred pixels: its bad rows, its visible part and the focus. Dragging scrolls the
 * list.
 */

import type { Overview } from "../api/answers";
import { rowOfKey } from "../model/keys";
import { marks, minimapPixel, minimapRow } from "../model/minimap";
import { MINIMAP } from "./geometry";
import { drag } from "./hooks";

interface MinimapProps {
  readonly label: string;
  readonly axis: "x" | "y";
  /** Length in pixels. */
  readonly length: number;
  readonly overview: Overview | undefined;
  readonly total: number;
  readonly begin: number;
  readonly end: number;
  readonly focus: number | undefined;
  /** The visible part in words, where it is not one of rows. */
  readonly words?: string;
  /** Gets the row for the middle of the view. */
  readonly onSeek: (row: number) => void;
}

export function Minimap(props: MinimapProps) {
  const { label, axis, total, begin, end, words } = props;
  return (
    <div
      class={`minimap minimap-${axis}`}
      role="slider"
      aria-label={label}
      aria-orientation={axis === "x" ? "horizontal" : "vertical"}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, total - 1)}
      aria-valuenow={begin}
      aria-valuetext={words ?? `rows ${begin} to ${Math.max(begin, end - 1)} of ${total}`}
      tabIndex={0}
      onPointerDown={(event) => press(event, props)}
      onKeyDown={(event) => seekByKey(event, props)}
    >
      <Rows {...props} />
      <Position {...props} />
    </div>
  );
}

function press(event: PointerEvent, { axis, length, total, onSeek }: MinimapProps): void {
  const seek = (at: PointerEvent) => {
    const box = (at.currentTarget as HTMLElement | null)?.getBoundingClientRect();
    if (box !== undefined)
      onSeek(minimapRow(axis === "x" ? at.clientX - box.left : at.clientY - box.top, total, length));
  };
  event.preventDefault();
  (event.currentTarget as HTMLElement).focus();
  seek(event);
  drag(event, seek);
}

function seekByKey(event: KeyboardEvent, { begin, end, total, onSeek }: MinimapProps): void {
  const page = Math.max(1, end - begin);
  const to = rowOfKey(event.key, { arrows: "both", from: (begin + end) / 2, page, last: total });
  if (to === undefined) return;
  event.preventDefault();
  onSeek(to);
}

/** The rows that were measured and those that are bad. */
function Rows({ overview, axis, length }: MinimapProps) {
  if (overview === undefined) return null;
  const [width, height] = axis === "x" ? [length, MINIMAP] : [MINIMAP, length];
  return (
    <svg aria-hidden="true" width={width} height={height}>
      <path class="minimap-measured" d={path(overview, "measured", axis, length)} />
      <path class="minimap-bad" d={path(overview, "bad", axis, length)} />
    </svg>
  );
}

/** The visible part and the focus. */
function Position({ axis, length, total, begin, end, focus }: MinimapProps) {
  const from = minimapPixel(begin, total, length);
  const size = Math.max(4, minimapPixel(end - begin, total, length));
  const at = (pixel: number, extent: number) =>
    axis === "x"
      ? { left: `${pixel}px`, width: `${extent}px` }
      : { top: `${pixel}px`, height: `${extent}px` };
  return (
    <>
      <i class="minimap-window" style={at(Math.min(from, length - size), size)} />
      {focus !== undefined && (
        <i
          class="minimap-focus"
          style={at(Math.min(length - 2, minimapPixel(focus + 0.5, total, length) - 1), 2)}
        />
      )}
    </>
  );
}

/**
 * One rectangle for each bucket of the kind. A bad one is at least two pixels long, and wider with more bad
 * rows.
 */
function path(overview: Overview, kind: "bad" | "measured", axis: "x" | "y", length: number): string {
  const all = marks(overview.bad, overview.measured);
  const step = length / Math.max(1, all.length);
  const extent = kind === "bad" ? Math.max(2, step) : step;
  return all
    .map((mark, i) => {
      if (mark !== kind) return "";
      const width = kind === "bad" ? badWidth(overview, i) : 2;
      const lane = (MINIMAP - width) / 2;
      const along = i * step;
      return axis === "x"
        ? `M${along.toFixed(1)},${lane}h${extent.toFixed(1)}v${width}h${(-extent).toFixed(1)}z`
        : `M${lane},${along.toFixed(1)}h${width}v${extent.toFixed(1)}h${-width}z`;
    })
    .join("");
}

function badWidth({ bad, measured }: Overview, bucket: number): number {
  const share = (bad[bucket] ?? 0) / Math.max(1, measured[bucket] ?? 0, bad[bucket] ?? 0);
  return Math.round(5 + share * (MINIMAP - 7));
}
