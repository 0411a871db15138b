/** Which block of exact texts an element is in. Cells are those of the plane that is drawn. */

import type { ValueTexts } from "../../api/values";
import type { RunName } from "../../base/ids";
import type { Cell, ValueView } from "../../model/values/view";
import type { Blocks } from "./blocks";
import type { TextBlock } from "./values";

/** The sizes of a block of a matrix, and of a vector, which is one row. */
const OF_MATRIX = { rows: 50, columns: 20 } as const;
const OF_VECTOR = { rows: 1, columns: 100 } as const;

export type TextBlocks = Blocks<TextBlock, ValueTexts>;

/** The block with an element. */
export function textBlock(run: RunName, view: ValueView, cell: Cell): TextBlock {
  const { row, column } = inOrder(view, cell);
  const size = view.plane?.rows === undefined ? OF_VECTOR : OF_MATRIX;
  const at = {
    slicing: view.slicing,
    row: Math.floor(row / size.rows) * size.rows,
    column: Math.floor(column / size.columns) * size.columns,
    ...size,
  };
  return { key: JSON.stringify([run, view.ref, view.edition, at]), run, ref: view.ref, at };
}

/** The exact text of an element; undefined when it was not fetched. */
export function textOf(texts: TextBlocks, run: RunName, view: ValueView, cell: Cell): string | undefined {
  const { key, at } = textBlock(run, view, cell);
  const { row, column } = inOrder(view, cell);
  return texts.at(key)?.cells[row - at.row]?.[column - at.column];
}

/** The blocks of a part of the plane. */
export function textBlocks(
  run: RunName,
  view: ValueView,
  rows: { readonly begin: number; readonly end: number },
  columns: { readonly begin: number; readonly end: number },
): readonly TextBlock[] {
  const blocks = new Map<string, TextBlock>();
  const size = view.plane?.rows === undefined ? OF_VECTOR : OF_MATRIX;
  const [down, across] = view.plane?.isSwapped ? [size.columns, size.rows] : [size.rows, size.columns];
  for (let row = rows.begin; row < rows.end; row = next(row, down))
    for (let column = columns.begin; column < columns.end; column = next(column, across)) {
      const block = textBlock(run, view, { row, column });
      blocks.set(block.key, block);
    }
  return [...blocks.values()];
}

function next(at: number, size: number): number {
  return (Math.floor(at / size) + 1) * size;
}

/** The position in the order of the dimensions. */
function inOrder({ plane }: ValueView, { row, column }: Cell): Cell {
  return plane?.isSwapped ? { row: column, column: row } : { row, column };
}
