/** Where the picture of an op draws its cards, in pixels. */
import { cardTops, columnHeight } from "../model/card_layout";
import { numericsWords } from "../model/health";
import type { Card, Neighbourhood } from "../model/neighbourhood";
import { CARD, CARD_MARGIN, COLUMN_TITLE, MORE_CARDS } from "./geometry";

export const MOST_OUTPUTS = 4;

/** The numbers of cards to draw at most. */
export interface Most {
  readonly inputs: number;
  readonly consumers: number;
}

export interface Column {
  /** The cards that are drawn, and the top of each. */
  readonly cards: readonly Card[];
  readonly tops: readonly number[];
  /** The number of all cards. */
  readonly all: number;
}

export interface PictureLayout {
  readonly height: number;
  /** The middle of the op's own card, and its height. */
  readonly middle: number;
  readonly centre: number;
  readonly inputs: Column;
  readonly consumers: Column;
}

/** The layout in a frame of some height, which long columns exceed. */
export function layoutOf(op: Neighbourhood, most: Most, height: number): PictureLayout {
  const inputs = op.inputs.slice(0, most.inputs);
  const consumers = op.consumers.slice(0, most.consumers);
  const centre = centreHeight(op);
  const isCut = inputs.length < op.inputs.length || consumers.length < op.consumers.length;
  const more = isCut ? MORE_CARDS.height + MORE_CARDS.gap : 0;
  const tallest = Math.max(columnHeight(inputs.length, CARD), columnHeight(consumers.length, CARD), centre);
  const full = Math.max(COLUMN_TITLE + tallest + more + CARD_MARGIN, height);
  // The op is visible without scrolling, even if its columns are long.
  const middle = Math.max(COLUMN_TITLE + centre / 2, (COLUMN_TITLE + Math.min(full, height)) / 2);
  const column = (cards: readonly Card[], all: readonly Card[]): Column => ({
    cards,
    tops: cardTops(cards.length, middle, COLUMN_TITLE, CARD),
    all: all.length,
  });
  return {
    height: full,
    middle,
    centre,
    inputs: column(inputs, op.inputs),
    consumers: column(consumers, op.consumers),
  };
}

/** The height of the op's own card, from the lines in it. */
function centreHeight(op: Neighbourhood): number {
  const extra = [op.role, op.runs[0], op.same].filter((line) => line !== undefined).length;
  const shown = op.outputs.slice(0, MOST_OUTPUTS);
  const numerics = shown.reduce((lines, summary) => lines + numericsWords(summary).length, 0);
  return 46 + 18 * extra + 34 * Math.max(1, shown.length) + 16 * numerics;
}
