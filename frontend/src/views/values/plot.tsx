/** A plot of a slice: the wheel zooms, dragging moves, a double click shows all, a click chooses an element. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { positionOf } from "../../model/values/slicing";
import type { Cell } from "../../model/values/view";
import type { ValuePicture } from "../../store/values/values";
import { textBlock, textOf } from "../../store/values/values";
import { drag, useSize } from "../hooks";
import type { Of, With } from "../props";
import { takeBadKey } from "./bad_element";
import { drawCurve } from "./draw_curve";
import { drawMap } from "./draw_map";
import { usePalette } from "./palette";
import { PlotCanvas } from "./plot_canvas";
import { useRange } from "./range";
import { areaOf, kindOf } from "./scene";

type Uses = "cell" | "run" | "valueTexts" | "valueTiles" | "setCell" | typeof takeBadKey | typeof useRange;

type PlotProps = With<Uses, { picture: ValuePicture }>;

const DRAWINGS = { map: drawMap, curve: drawCurve } as const;
const WORDS = { map: "Heat map", curve: "Curve" } as const;

export function Plot({ store, picture }: PlotProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hover, setHover] = useState<Hover | undefined>(undefined);
  const plot = usePlotCanvas(store, picture, frame, canvas);
  const kind = kindOf(picture);
  useWheel(canvas, plot);
  return (
    <div class="plot short grow" ref={frame}>
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: its keys are its own. */}
      <canvas
        ref={canvas}
        class="plot-canvas wide"
        role="application"
        aria-label={`${WORDS[kind]}: the arrow keys choose an element, plus and minus zoom, 0 shows all`}
        tabIndex={0}
        data-testid={`value-${kind}`}
        onPointerDown={(event) => press(event, plot.current, store)}
        onPointerMove={(event) => setHover(hoverAt(event, plot.current))}
        onPointerLeave={() => setHover(undefined)}
        onDblClick={() => plot.current?.reset()}
        onKeyDown={(event) => takeKey(event, store, picture, plot.current)}
      />
      {cellIn(picture, hover?.cell) !== undefined && hover !== undefined && (
        <Tip store={store} picture={picture} hover={hover} />
      )}
      <CellWords store={store} picture={picture} />
    </div>
  );
}

type Held = { readonly current: PlotCanvas | undefined };

/** The canvas, which is drawn again when something of it changes. */
function usePlotCanvas(
  store: Of<Uses>,
  picture: ValuePicture,
  frame: RefObject<HTMLDivElement | null>,
  canvas: RefObject<HTMLCanvasElement | null>,
): Held {
  const plot = useRef<PlotCanvas | undefined>(undefined);
  const place = useSize(frame);
  const [inks, only] = [usePalette(), useRange(store)];
  const cell = store.cell.value;
  const edition = store.valueTiles.edition.value;
  useLayoutEffect(() => {
    if (canvas.current !== null) plot.current = new PlotCanvas(canvas.current, store);
    return () => plot.current?.destroy();
  }, []);
  useLayoutEffect(
    () => plot.current?.set({ picture, place, inks, only, cell, draw: DRAWINGS[kindOf(picture)] }),
    [picture, place, inks, only, cell, edition],
  );
  useLayoutEffect(() => {
    if (cell !== undefined) plot.current?.show(cell);
  }, [cell]);
  return plot;
}

/** A listener that is not passive cannot be an attribute. */
function useWheel(canvas: RefObject<HTMLCanvasElement | null>, plot: Held): void {
  useEffect(() => {
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === 0 ? 1 : 30);
      plot.current?.zoom(2 ** (-pixels / 240), { x: event.offsetX, y: event.offsetY });
    };
    const element = canvas.current;
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, []);
}

const CLICK = 4;

/** Drags the plot, or chooses the element if the pointer hardly moves. */
function press(event: PointerEvent, plot: PlotCanvas | undefined, store: Of<Uses>): void {
  if (plot === undefined || event.button !== 0) return;
  let [x, y] = [event.clientX, event.clientY];
  const { offsetX, offsetY } = event;
  let moved = 0;
  const onMove = (to: PointerEvent) => {
    moved += Math.abs(to.clientX - x) + Math.abs(to.clientY - y);
    if (moved > CLICK) plot.pan(x - to.clientX, y - to.clientY);
    [x, y] = [to.clientX, to.clientY];
  };
  drag(event, onMove, () => {
    if (moved <= CLICK) store.setCell(plot.cellAt(offsetX, offsetY));
  });
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};
const ZOOMS: Readonly<Record<string, number>> = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };

function takeKey(
  event: KeyboardEvent,
  store: Of<Uses>,
  picture: ValuePicture,
  plot: PlotCanvas | undefined,
): void {
  const [step, zoom] = [STEPS[event.key], ZOOMS[event.key]];
  if (plot === undefined || event.ctrlKey || event.metaKey) return;
  if (takeBadKey(store, event, picture.view)) return;
  if (step !== undefined) store.setCell(stepped(store.cell.peek(), step, picture));
  else if (zoom !== undefined) plot.zoom(zoom, centreOf(event.currentTarget as HTMLElement));
  else if (event.key === "0") plot.reset();
  else return;
  event.preventDefault();
}

function stepped(
  from: Cell | undefined,
  [down, across]: readonly [number, number],
  picture: ValuePicture,
): Cell {
  const { width, height } = areaOf(picture);
  if (from === undefined) return { row: 0, column: 0 };
  const clip = (at: number, length: number) => Math.max(0, Math.min(length - 1, at));
  return { row: clip(from.row + down, height), column: clip(from.column + across, width) };
}

function centreOf({ clientWidth, clientHeight }: HTMLElement) {
  return { x: clientWidth / 2, y: clientHeight / 2 };
}

interface Hover {
  readonly cell: Cell;
  readonly x: number;
  readonly y: number;
}

function hoverAt(event: PointerEvent, plot: PlotCanvas | undefined): Hover | undefined {
  const { offsetX: x, offsetY: y } = event;
  const cell = plot?.cellAt(x, y);
  return cell === undefined || event.buttons !== 0 ? undefined : { cell, x, y };
}

interface TipProps extends PlotProps {
  readonly hover: Hover;
}

/** The position and the exact text of the element below the pointer. */
function Tip({ store, picture, hover }: TipProps) {
  const words = useElementWords(store, picture, hover.cell);
  const isRight = hover.x > 200;
  return (
    <div
      class={`plot-tip ${isRight ? "plot-tip-left" : ""}`}
      style={{ transform: `translate(${hover.x}px, ${hover.y}px)` }}
      data-testid="value-tip"
    >
      <span>{words}</span>
    </div>
  );
}

/** The element in focus in words, also for screen readers. */
function CellWords({ store, picture }: PlotProps) {
  const cell = cellIn(picture, store.cell.value);
  return (
    <p class="plot-cell mono dim" role="status" data-testid="value-cell">
      {cell === undefined ? "" : <ElementWords store={store} picture={picture} cell={cell} />}
    </p>
  );
}

/** The cell, if the picture has it: the slice may have changed. */
function cellIn(picture: ValuePicture, cell: Cell | undefined): Cell | undefined {
  const { width, height } = areaOf(picture);
  return cell !== undefined && cell.row < height && cell.column < width ? cell : undefined;
}

function ElementWords({ store, picture, cell }: PlotProps & { readonly cell: Cell }) {
  return <>{useElementWords(store, picture, cell)}</>;
}

/** The pause of the pointer before the exact text is requested. */
const PAUSE_MS = 60;

/** "[3, 17] = 0.12345678"; the text is requested when the pointer rests. */
function useElementWords(store: Of<Uses>, { view }: ValuePicture, cell: Cell): string {
  const run = store.run.value;
  void store.valueTexts.edition.value;
  const text = run === undefined ? undefined : textOf(store.valueTexts, run, view, cell);
  useEffect(() => {
    if (text !== undefined || run === undefined) return;
    const timer = setTimeout(() => store.valueTexts.want([textBlock(run, view, cell)]), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [run, view, cell.row, cell.column, text === undefined]);
  const position =
    view.plane === undefined ? [cell.row, cell.column] : positionOf(view.plane, cell.row, cell.column);
  return `[${position.join(", ")}] = ${text ?? "…"}`;
}
