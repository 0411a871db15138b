/** The curves from each card of the graph structure to its slot of the op. */
import { curve, portOffset } from "../model/card_layout";
import { isBad } from "../model/health";
import type { Card, Neighbourhood } from "../model/neighbourhood";
import { CARD, COLUMN_ENDS } from "./geometry";
import type { Column, PictureLayout } from "./picture_layout";

interface CurvesProps {
  readonly width: number;
  readonly op: Neighbourhood;
  readonly layout: PictureLayout;
  /** Whether a card is on the way of the bad value that is explained. */
  readonly isOnChain: (card: Card) => boolean;
}

/** Where the curves of a side end, and how the number of a slot is written beside its card. */
const SIDES = {
  input: { card: COLUMN_ENDS.input, op: COLUMN_ENDS.opLeft, beside: 2, look: "slot-number", sign: "" },
  consumer: {
    card: COLUMN_ENDS.consumer,
    op: COLUMN_ENDS.opRight,
    beside: -2,
    look: "slot-number slot-of-output",
    sign: ":",
  },
} as const;

/** With several slots, the number of the slot is at the card. */
export function Curves({ width, op, layout, isOnChain }: CurvesProps) {
  const { middle, centre, inputs, consumers } = layout;
  const curves = (side: keyof typeof SIDES, { cards, tops }: Column, slots: number) =>
    cards.map((card, i) => (
      <CardCurve
        key={card.key}
        card={card}
        side={side}
        width={width}
        y={(tops[i] ?? 0) + CARD.height / 2}
        port={middle + portOffset(card.slot, slots, centre)}
        isNumbered={slots > 1}
        isOnWay={isOnChain(card)}
      />
    ));
  return (
    <svg class="curves" aria-hidden="true" width={width} height="100%">
      {curves("input", inputs, op.inputs.length)}
      {curves("consumer", consumers, op.outputs.length)}
    </svg>
  );
}

interface CurveProps {
  readonly card: Card;
  readonly side: keyof typeof SIDES;
  readonly width: number;
  /** The middle of the card's side. */
  readonly y: number;
  /** The height of the slot at the op. */
  readonly port: number;
  readonly isNumbered: boolean;
  readonly isOnWay: boolean;
}

function CardCurve({ card, side, width, y, port, isNumbered, isOnWay }: CurveProps) {
  const { card: edge, op, beside, look, sign } = SIDES[side];
  const [end, start] = [width * edge, width * op];
  const path = side === "input" ? curve(end, y, start, port) : curve(start, port, end, y);
  return (
    <g>
      <path class={curveClass(card, isOnWay)} d={path} />
      {isNumbered && (
        <text class={look} x={end + beside} y={besideCurve(y, port)}>
          {sign}
          {card.slot}
        </text>
      )}
    </g>
  );
}

function curveClass({ summary }: Card, isOnWay: boolean): string {
  return `curve ${isBad(summary) ? "curve-bad" : ""} ${isOnWay ? "curve-chain" : ""}`;
}

/**
 * The height of a slot number: above a curve that goes down, below a curve that goes up, so that they do not
 * cross.
 */
function besideCurve(from: number, to: number): number {
  return from > to ? from + 12 : from - 4;
}
