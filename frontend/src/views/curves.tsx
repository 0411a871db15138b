/** The curves from each card of the graph structure to its slot of the op. */
import { curve, portOffset } from "../model/card_layout";
import { isBad } from "../model/health";
import type { Card, Neighbourhood } from "../model/neighbourhood";
import { CARD, COLUMN_ENDS } from "./geometry";
import type { PictureLayout } from "./picture_layout";

interface CurvesProps {
  readonly width: number;
  readonly op: Neighbourhood;
  readonly layout: PictureLayout;
  /** Whether a card is on the way of the bad value that is explained. */
  readonly isOnChain: (card: Card) => boolean;
}

/** With several slots, the number of the slot is at the card. */
export function Curves({ width, op, layout, isOnChain }: CurvesProps) {
  const { middle, centre, inputs, consumers } = layout;
  const [left, right] = [op.inputs.length, op.outputs.length];
  const ends = (tops: readonly number[], i: number, slot: number, slots: number) => ({
    width,
    y: (tops[i] ?? 0) + CARD.height / 2,
    port: middle + portOffset(slot, slots, centre),
    isNumbered: slots > 1,
  });
  return (
    <svg class="curves" aria-hidden="true" width={width} height="100%">
      {inputs.cards.map((card, i) => (
        <InputCurve
          key={card.key}
          card={card}
          isOnWay={isOnChain(card)}
          {...ends(inputs.tops, i, card.slot, left)}
        />
      ))}
      {consumers.cards.map((card, i) => (
        <ConsumerCurve
          key={card.key}
          card={card}
          isOnWay={isOnChain(card)}
          {...ends(consumers.tops, i, card.slot, right)}
        />
      ))}
    </svg>
  );
}

interface CurveProps {
  readonly card: Card;
  readonly width: number;
  /** The middle of the card's side. */
  readonly y: number;
  /** The height of the slot at the op. */
  readonly port: number;
  readonly isNumbered: boolean;
  readonly isOnWay: boolean;
}

function InputCurve({ card, width, y, port, isNumbered, isOnWay }: CurveProps) {
  const end = width * COLUMN_ENDS.input;
  return (
    <g>
      <path class={curveClass(card, isOnWay)} d={curve(end, y, width * COLUMN_ENDS.opLeft, port)} />
      {isNumbered && (
        <text class="slot-number" x={end + 2} y={besideCurve(y, port)}>
          {card.slot}
        </text>
      )}
    </g>
  );
}

function ConsumerCurve({ card, width, y, port, isNumbered, isOnWay }: CurveProps) {
  const end = width * COLUMN_ENDS.consumer;
  return (
    <g>
      <path class={curveClass(card, isOnWay)} d={curve(width * COLUMN_ENDS.opRight, port, end, y)} />
      {isNumbered && (
        <text class="slot-number slot-of-output" x={end - 2} y={besideCurve(y, port)}>
          :{card.slot}
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
