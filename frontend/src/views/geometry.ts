/**
 * Sizes in pixels that the code computes with. Those that style sheets need too are variables of the root
 * element, which `setGeometry` sets; no style sheet repeats them.
 */

export const ALERT_ROW = 40;
export const GRAPH_EXECUTION_ROW = 24;
export const LIST_HEADER = 26;
/** A row of the inputs or outputs of an execution. */
export const TENSOR_ROW = 22;

/** A box of the timeline, and the space after it. */
export const BOX = { width: 18, gap: 2 } as const;

/** The short side of a minimap. */
export const MINIMAP = 14;

/** The cards of the graph structure. */
export const CARD = { height: 62, gap: 6 } as const;
/** The space at the left and right end of the graph structure, and below its columns. */
export const CARD_MARGIN = 8;
/** The line above the columns of cards. */
export const COLUMN_TITLE = 24;
/** The button below a column that shows more cards. */
export const MORE_CARDS = { height: 21, gap: 5 } as const;
/** Where the columns end, as shares of the width: the inputs, the op on both sides, the consumers. */
export const COLUMN_ENDS = { input: 0.32, opLeft: 0.355, opRight: 0.645, consumer: 0.68 } as const;

/** A cell of a table of elements, and the width of its first column. */
export const VALUE_CELL = { width: 104, height: 20, head: 64 } as const;

const percent = (share: number) => `${Number((share * 100).toFixed(2))}%`;
const px = (n: number) => `${n}px`;

const VARIABLES = {
  "--box-width": px(BOX.width),
  "--box-gap": px(BOX.gap),
  "--minimap": px(MINIMAP),
  "--tensor-row": px(TENSOR_ROW),
  "--card-margin": px(CARD_MARGIN),
  "--more-cards": px(MORE_CARDS.height),
  "--input-end": percent(COLUMN_ENDS.input),
  "--op-left": percent(COLUMN_ENDS.opLeft),
  "--op-right": percent(1 - COLUMN_ENDS.opRight),
  "--consumer-width": percent(1 - COLUMN_ENDS.consumer),
  "--value-cell-width": px(VALUE_CELL.width),
  "--value-cell-height": px(VALUE_CELL.height),
  "--value-cell-head": px(VALUE_CELL.head),
} as const;

export function setGeometry(root: HTMLElement): void {
  for (const [name, value] of Object.entries(VARIABLES)) root.style.setProperty(name, value);
}
