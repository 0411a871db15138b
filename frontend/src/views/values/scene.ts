/** What a plot draws: the grids of a slice that are there, from coarse to fine, and where they are. */
import type { Grid, NumberRange } from "../../model/values/grid";
import { type Area, BLOCK, type Block, blocksOf, type Kind, type View } from "../../model/values/levels";
import type { Cell } from "../../model/values/view";
import { type TileBlock, tileBlock, type ValuePicture } from "../../store/values/values";
import type { Of } from "../props";
import type { Inks } from "./palette";

/** A grid, and the element at its beginning. */
export interface Layer {
  readonly grid: Grid;
  readonly row: number;
  readonly column: number;
}

export interface Scene {
  readonly context: CanvasRenderingContext2D;
  readonly place: Area;
  readonly view: View;
  readonly picture: ValuePicture;
  readonly layers: readonly Layer[];
  /** Whether the finest layers are as fine as the view needs everywhere. */
  readonly isWhole: boolean;
  readonly inks: Inks;
  /** The range that is highlighted. */
  readonly only: NumberRange | undefined;
  readonly cell: Cell | undefined;
}

/** Draws a scene; the canvas is empty. */
export type Draw = (scene: Scene) => void;

/** Levels that are looked for while finer ones are missing. */
const MOST_BACK = 4;

export function areaOf({ grid }: ValuePicture): Area {
  return { width: grid.width, height: grid.height };
}

/** The blocks that the view needs. */
export function wantedBlocks(picture: ValuePicture, view: View, place: Area): readonly Block[] {
  return blocksAt(picture, view, place, 0);
}

function blocksAt(picture: ValuePicture, view: View, place: Area, back: number): readonly Block[] {
  const { tileRows, tileColumns } = picture.grid;
  return blocksOf(view, areaOf(picture), place, { width: tileColumns, height: tileRows }, back);
}

/** The coarse grid, then what is kept of finer levels. */
export function layersOf(
  store: Of<"run" | "valueTiles">,
  picture: ValuePicture,
  view: View,
  place: Area,
): { readonly layers: readonly Layer[]; readonly isWhole: boolean } {
  const layers: Layer[] = [{ grid: picture.grid, row: 0, column: 0 }];
  const wanted = wantedBlocks(picture, view, place);
  let found = 0;
  for (let back = MOST_BACK; back >= 0; back--) {
    const blocks = blocksAt(picture, view, place, back);
    const there = blocks.flatMap((block) => layerOf(store, picture, block) ?? []);
    layers.push(...there);
    found = there.length;
  }
  return { layers, isWhole: found === wanted.length };
}

function layerOf(store: Of<"run" | "valueTiles">, picture: ValuePicture, block: Block): Layer | undefined {
  const key = requestOf(store, picture, block)?.key;
  const grid = key === undefined ? undefined : store.valueTiles.at(key);
  return grid && { grid, row: block.rows.begin, column: block.columns.begin };
}

/** The request for a block; undefined when its slicing is not known here. */
export function requestOf(store: Of<"run">, picture: ValuePicture, block: Block): TileBlock | undefined {
  const run = store.run.value;
  return run === undefined ? undefined : tileBlock(run, picture, block, BLOCK);
}

/** A matrix is a map; a vector is a curve. */
export function kindOf({ view }: ValuePicture): Kind {
  return view.plane?.rows === undefined ? "curve" : "map";
}

/** The element itself, if a layer has it. */
export function elementAt(layers: readonly Layer[], at: Cell): number | undefined {
  for (let i = layers.length - 1; i >= 0; i--) {
    const { grid, row, column } = layers[i] as Layer;
    const [r, c] = [at.row - row, at.column - column];
    const isExact = grid.tileRows === 1 && grid.tileColumns === 1;
    if (isExact && r >= 0 && c >= 0 && r < grid.rows && c < grid.columns)
      return grid.mean[r * grid.columns + c];
  }
  return undefined;
}
