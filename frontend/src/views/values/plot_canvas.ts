/**
 * A canvas that shows a slice and moves through it. It draws at most once a frame, and only what is there: it
 * never waits for the server. Blocks that are missing are requested a few times a second.
 */
import type { NumberRange } from "../../model/values/grid";
import { type Area, cellAt, fitted, panned, showing, type View, zoomed } from "../../model/values/levels";
import type { Cell } from "../../model/values/view";
import type { ValuePicture } from "../../store/values/values";
import type { Of } from "../props";
import type { Inks } from "./palette";
import { areaOf, type Draw, kindOf, layersOf, requestOf, wantedBlocks } from "./scene";

const REQUESTS_EVERY_MS = 120;

export interface PlotState {
  readonly picture: ValuePicture;
  readonly place: Area;
  readonly inks: Inks;
  readonly only: NumberRange | undefined;
  readonly cell: Cell | undefined;
  readonly draw: Draw;
}

/** Lives until `destroy`. */
export class PlotCanvas {
  readonly #canvas: HTMLCanvasElement;
  readonly #store: Of<typeof layersOf>;
  #state: PlotState | undefined;
  #view: View = { left: 0, top: 0, scaleX: 1, scaleY: 1 };
  /** What the view was made for: another slice or place gets another view. */
  #fittedTo = "";
  #frame = 0;
  #request: ReturnType<typeof setTimeout> | undefined;

  constructor(canvas: HTMLCanvasElement, store: Of<typeof layersOf>) {
    this.#canvas = canvas;
    this.#store = store;
  }

  get view(): View {
    return this.#view;
  }

  /** Sets what is drawn. The view stays as long as the slice and the place have their sizes. */
  set(state: PlotState): void {
    this.#state = state;
    const { picture, place } = state;
    const slice = areaOf(picture);
    const swapped = picture.view.plane?.isSwapped;
    const fittedTo = [slice.width, slice.height, place.width, place.height, swapped].join(" ");
    if (fittedTo !== this.#fittedTo) this.#view = fitted(kindOf(picture), slice, place);
    this.#fittedTo = fittedTo;
    this.redraw();
  }

  zoom(factor: number, at: { readonly x: number; readonly y: number }): void {
    this.#move((view, { picture, place }) =>
      zoomed(kindOf(picture), view, factor, at, areaOf(picture), place),
    );
  }

  pan(x: number, y: number): void {
    this.#move((view, { picture, place }) => panned(view, x, y, areaOf(picture), place));
  }

  /** Shows the whole slice. */
  reset(): void {
    this.#move((_, { picture, place }) => fitted(kindOf(picture), areaOf(picture), place));
  }

  /** Moves as little as needed to show an element. */
  show(cell: Cell): void {
    this.#move((view, { picture, place }) => showing(view, cell.row, cell.column, areaOf(picture), place));
  }

  /** The element at a point of the canvas. */
  cellAt(x: number, y: number): Cell | undefined {
    return this.#state && cellAt(this.#view, x, y, areaOf(this.#state.picture));
  }

  redraw(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  destroy(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#request);
    this.#store.valueTiles.want([]);
  }

  #move(to: (view: View, state: PlotState) => View): void {
    if (this.#state === undefined) return;
    this.#view = to(this.#view, this.#state);
    this.redraw();
  }

  #draw(): void {
    this.#frame = 0;
    const state = this.#state;
    const context = this.#canvas.getContext("2d");
    if (state === undefined || context === null || state.place.width === 0) return;
    const { picture, place } = state;
    const ratio = window.devicePixelRatio;
    const [width, height] = [Math.round(place.width * ratio), Math.round(place.height * ratio)];
    if (this.#canvas.width !== width || this.#canvas.height !== height)
      [this.#canvas.width, this.#canvas.height] = [width, height];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, place.width, place.height);
    const layers = layersOf(this.#store, picture, this.#view, place);
    state.draw({ context, ...state, ...layers, view: this.#view });
    this.#canvas.dataset.whole = String(layers.isWhole);
    this.#canvas.dataset.pixels = String(this.#view.scaleX * ratio);
    if (!layers.isWhole) this.#requestSoon();
  }

  /** The first request is made at once, later ones after a pause, so that a movement is not a flood. */
  #requestSoon(): void {
    if (this.#request !== undefined) return;
    this.#requestNow();
    this.#request = setTimeout(() => {
      this.#request = undefined;
      this.#requestNow();
    }, REQUESTS_EVERY_MS);
  }

  #requestNow(): void {
    if (this.#state === undefined) return;
    const { picture, place } = this.#state;
    const blocks = wantedBlocks(picture, this.#view, place);
    this.#store.valueTiles.want(blocks.flatMap((block) => requestOf(this.#store, picture, block) ?? []));
  }
}
