/**
 * A whole list in a few hundred pixels: its bad rows, its visible part and the focus. Dragging scrolls the
 * list.
 */

import type { Overview } from "../api/answers";
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
  /** Gets the row for the middle of the view. */
  readonly onSeek: (row: number) => void;
}

export function Minimap({ label, axis, length, overview, total, begin, end, focus, onSeek }: MinimapProps) {
  const seek = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement | null)?.getBoundingClientRect();
    if (box !== undefined)
      onSeek(minimapRow(axis === "x" ? event.clientX - box.left : event.clientY - box.top, total, length));
  };
  const key = (event: KeyboardEvent) => {
    const middle = (begin + end) / 2;
    const page = Math.max(1, end - begin);
    const to = {
      ArrowLeft: middle - 1,
      ArrowUp: middle - 1,
      ArrowRight: middle + 1,
      ArrowDown: middle + 1,
      PageUp: middle - page,
      PageDown: middle + page,
      Home: 0,
      End: total,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onSeek(to);
  };
  const from = minimapPixel(begin, total, length);
  const size = Math.max(4, minimapPixel(end - begin, total, length));
  const at = (pixel: number, extent: number) =>
    axis === "x" ? { left: pixel, width: extent } : { top: pixel, height: extent };
  return (
    <div
      class={`minimap minimap-${axis}`}
      role="slider"
      aria-label={label}
      aria-orientation={axis === "x" ? "horizontal" : "vertical"}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, total - 1)}
      aria-valuenow={begin}
      aria-valuetext={`rows ${begin} to ${Math.max(begin, end - 1)} of ${total}`}
      tabIndex={0}
      onPointerDown={(event) => {
        event.preventDefault();
        (event.currentTarget as HTMLElement).focus();
        seek(event);
        drag(event, seek);
      }}
      onKeyDown={key}
    >
      {overview !== undefined && (
        <svg
          aria-hidden="true"
          width={axis === "x" ? length : MINIMAP}
          height={axis === "x" ? MINIMAP : length}
        >
          <path class="minimap-measured" d={path(overview, "measured", axis, length)} />
          <path class="minimap-bad" d={path(overview, "bad", axis, length)} />
        </svg>
      )}
      <i class="minimap-window" style={at(Math.min(from, length - size), size)} />
      {focus !== undefined && (
        <i
          class="minimap-focus"
          style={at(Math.min(length - 2, minimapPixel(focus + 0.5, total, length) - 1), 2)}
        />
      )}
    </div>
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
