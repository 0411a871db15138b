/** The part of a picture that is seen: how far it is moved, and its scale. */
import type { Box, Point } from "./layout";

/** A point of the picture is at `scale` times it, plus `x` and `y`. */
export interface Viewport extends Point {
  readonly scale: number;
}

interface Frame {
  readonly width: number;
  readonly height: number;
}

const SCALES = { least: 0.02, dense: 0.4, readable: 0.6, most: 3 } as const;
/** The width of a frame from which on a small picture is drawn larger than it is. */
const WIDE = 1600;
const MARGIN = 12;

/** The whole picture, not larger than it is, or than twice that in a very wide frame. */
export function fitted(picture: Frame, frame: Frame): Viewport {
  const across = (frame.width - 2 * MARGIN) / Math.max(1, picture.width);
  const down = (frame.height - 2 * MARGIN) / Math.max(1, picture.height);
  const scale = within(Math.min(Math.max(1, Math.min(2, frame.width / WIDE)), across, down));
  return {
    scale,
    x: (frame.width - scale * picture.width) / 2,
    y: (frame.height - scale * picture.height) / 2,
  };
}

/**
 * The whole picture if its words can be read; else some boxes, of which the first is in the middle; or that one
 * alone when they are too far apart.
 */
export function beginning(picture: Frame, frame: Frame, boxes: readonly Box[]): Viewport {
  const whole = fitted(picture, frame);
  const [first] = boxes;
  if (whole.scale >= SCALES.readable || first === undefined) return whole;
  const reach = (low: (box: Box) => number, size: (box: Box) => number) => {
    const centre = low(first) + size(first) / 2;
    return 2 * Math.max(...boxes.map((box) => Math.max(centre - low(box), low(box) + size(box) - centre)));
  };
  const near = fitted(
    {
      width: reach(
        ({ x }) => x,
        ({ width }) => width,
      ),
      height: reach(
        ({ y }) => y,
        ({ height }) => height,
      ),
    },
    frame,
  );
  return centred(first, frame, near.scale < SCALES.dense ? 0.8 : near.scale);
}

export function centred(box: Box, frame: Frame, scale: number): Viewport {
  return {
    scale,
    x: frame.width / 2 - scale * (box.x + box.width / 2),
    y: frame.height / 2 - scale * (box.y + box.height / 2),
  };
}

/** Zooms around a point of the frame, which stays where it is. */
export function zoomed(view: Viewport, factor: number, at: Point): Viewport {
  const scale = within(view.scale * factor);
  const by = scale / view.scale;
  return { scale, x: at.x - by * (at.x - view.x), y: at.y - by * (at.y - view.y) };
}

export function moved(view: Viewport, dx: number, dy: number): Viewport {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

/** Moves as little as needed to show a box. */
export function revealed(view: Viewport, box: Box, frame: Frame): Viewport {
  const shift = (low: number, high: number, size: number) =>
    low < MARGIN ? MARGIN - low : high > size - MARGIN ? Math.max(MARGIN - low, size - MARGIN - high) : 0;
  const left = view.x + view.scale * box.x;
  const top = view.y + view.scale * box.y;
  return moved(
    view,
    shift(left, left + view.scale * box.width, frame.width),
    shift(top, top + view.scale * box.height, frame.height),
  );
}

function within(scale: number): number {
  return Math.max(SCALES.least, Math.min(SCALES.most, scale));
}
