/**
 * A slice as a grid of tiles. A tile holds `tileRows` x `tileColumns` neighbouring elements; those at the end
 * of a row or column may hold fewer. The numbers of a tile are over its finite elements.
 */
import type { GridAnswer } from "../../api/values";

/** Bits of `kinds`: what a tile holds. */
export const NAN = 1;
export const POS_INF = 2;
export const NEG_INF = 4;
export const FINITE = 8;

type Numbers = Float64Array | Float32Array;

export interface Grid {
  /** The size of the grid. */
  readonly rows: number;
  readonly columns: number;
  readonly tileRows: number;
  readonly tileColumns: number;
  /** The size of the slice in elements. */
  readonly height: number;
  readonly width: number;
  /** NaN in tiles without a finite element. With one element a tile, these are the elements themselves. */
  readonly mean: Numbers;
  readonly min: Numbers;
  readonly max: Numbers;
  readonly kinds: Uint8Array;
}

export interface NumberRange {
  readonly low: number;
  readonly high: number;
}

const NONE = new Float64Array(0);

export function gridOf({ slice_shape, grid, tile, columns }: GridAnswer): Grid {
  const [rows = 0, cols = 0] = grid;
  const [tileRows = 1, tileColumns = 1] = tile;
  const [height, width] =
    slice_shape.length === 2 ? [slice_shape[0] ?? 0, slice_shape[1] ?? 0] : [1, slice_shape[0] ?? 1];
  const value = columns.get("value") as Numbers | undefined;
  const numbers = (name: string) => value ?? (columns.get(name) as Numbers | undefined) ?? NONE;
  const mean = numbers("mean");
  if (mean.length < rows * cols) throw new Error("The server's answer has fewer tiles than it says.");
  return {
    rows,
    columns: cols,
    tileRows,
    tileColumns,
    height,
    width,
    mean,
    min: numbers("min"),
    max: numbers("max"),
    kinds: (columns.get("kinds") as Uint8Array | undefined) ?? kindsOf(mean),
  };
}

function kindsOf(values: Numbers): Uint8Array {
  return Uint8Array.from(values, kindOf);
}

function kindOf(x: number): number {
  if (Number.isNaN(x)) return NAN;
  return x === Number.POSITIVE_INFINITY ? POS_INF : x === Number.NEGATIVE_INFINITY ? NEG_INF : FINITE;
}

export function transposed(grid: Grid): Grid {
  const { rows, columns } = grid;
  const turn = <T extends Numbers | Uint8Array>(from: T): T => {
    const to = from.slice() as T;
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c] ?? 0;
    return to;
  };
  const mean = turn(grid.mean);
  return {
    rows: columns,
    columns: rows,
    tileRows: grid.tileColumns,
    tileColumns: grid.tileRows,
    height: grid.width,
    width: grid.height,
    mean,
    min: grid.min === grid.mean ? mean : turn(grid.min),
    max: grid.max === grid.mean ? mean : turn(grid.max),
    kinds: turn(grid.kinds),
  };
}

/** The smallest and the largest finite element; undefined when there is none. */
export function rangeOf({ min, max, kinds }: Grid): NumberRange | undefined {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < kinds.length; i++) {
    if (((kinds[i] ?? 0) & FINITE) === 0) continue;
    low = Math.min(low, min[i] ?? low);
    high = Math.max(high, max[i] ?? high);
  }
  return low <= high ? { low, high } : undefined;
}

/**
 * The same slice with tiles put together, for a picture with fewer pixels than tiles: no bad element is lost.
 * The mean is that of the tiles.
 */
export function merged(grid: Grid, down: number, across: number): Grid {
  if (down <= 1 && across <= 1) return grid;
  const [rows, columns] = [Math.ceil(grid.rows / down), Math.ceil(grid.columns / across)];
  const numbers = () => new Float32Array(rows * columns).fill(Number.NaN);
  const [mean, min, max] = [numbers(), numbers(), numbers()];
  const kinds = new Uint8Array(rows * columns);
  const finite = new Uint32Array(rows * columns);
  const add = (to: number, from: number) => {
    const [n, value] = [finite[to] ?? 0, grid.mean[from] ?? 0];
    mean[to] = n === 0 ? value : (mean[to] ?? 0) + (value - (mean[to] ?? 0)) / (n + 1);
    min[to] = n === 0 ? (grid.min[from] ?? 0) : Math.min(min[to] ?? 0, grid.min[from] ?? 0);
    max[to] = n === 0 ? (grid.max[from] ?? 0) : Math.max(max[to] ?? 0, grid.max[from] ?? 0);
    finite[to] = n + 1;
  };
  for (let r = 0; r < grid.rows; r++)
    for (let c = 0; c < grid.columns; c++) {
      const [from, to] = [r * grid.columns + c, Math.floor(r / down) * columns + Math.floor(c / across)];
      const kind = grid.kinds[from] ?? 0;
      kinds[to] = (kinds[to] ?? 0) | kind;
      if (kind & FINITE) add(to, from);
    }
  const tiles = { tileRows: grid.tileRows * down, tileColumns: grid.tileColumns * across };
  return { ...grid, ...tiles, rows, columns, mean, min, max, kinds };
}

/** How many tiles are put together so that one is at least a pixel long: a power of two. */
export function mergeFactor(tile: number, scale: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(1 / (tile * scale)) - 1e-9));
}
