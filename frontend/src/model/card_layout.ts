/** Positions of the cards of an op and its neighbours, and the curves between them. */

/** Pixels of a card and of the space between two cards. */
export interface CardSize {
  readonly height: number;
  readonly gap: number;
}

/**
 * Tops of the cards of one column: centred, but none above `least`, so that a long column continues below.
 */
export function cardTops(n: number, middle: number, least: number, card: CardSize): readonly number[] {
  const first = Math.max(least, middle - columnHeight(n, card) / 2);
  return Array.from({ length: n }, (_, i) => first + i * (card.height + card.gap));
}

export function columnHeight(n: number, { height, gap }: CardSize): number {
  return n * height + Math.max(0, n - 1) * gap;
}

/**
 * Offset from the middle of a card's side to the curve of a slot; the slots are in order around the middle.
 */
export function portOffset(slot: number, n: number, height: number): number {
  return n < 2 ? 0 : (slot - (n - 1) / 2) * Math.min(14, (height - 16) / (n - 1));
}

/** A curve with horizontal ends, as an SVG path. */
export function curve(x0: number, y0: number, x1: number, y1: number): string {
  const bend = (x1 - x0) / 2;
  return `M${x0},${y0} C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`;
}
