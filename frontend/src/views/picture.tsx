/** The picture of an op: its inputs at the left, its consumers at the right, and curves between them. */
import { useRef, useState } from "preact/hooks";
import type { Forward } from "../api/answers";
import { counted } from "../base/text";
import { type Card, forwardTarget, type Neighbourhood } from "../model/neighbourhood";
import { Curves } from "./curves";
import { CARD } from "./geometry";
import { type Size, useSize } from "./hooks";
import { OpMenu } from "./live/op_menu";
import { useOpMenu } from "./live/use_op_menu";
import { Words } from "./numbers";
import { Centre, isOnChain, NeighbourCard, type Side } from "./op_cards";
import { Button, Failure } from "./panel";
import { type Column, layoutOf, type PictureLayout } from "./picture_layout";
import type { With } from "./props";

type Uses = "chainStep" | "explanation" | "follow" | typeof Centre | typeof OpMenu | typeof useOpMenu;

/** The number of cards drawn at first, and added with each press of the button for more. */
const CARDS = 60;

interface PictureProps extends With<Uses> {
  readonly op: Neighbourhood;
  /** The size of the last picture, so that the next one is not drawn for another size first. */
  readonly size: { current: Size };
}

export function Picture({ store, op, size }: PictureProps) {
  const frame = useRef<HTMLDivElement>(null);
  size.current = useSize(frame, size.current);
  const { width, height } = size.current;
  const [most, setMost] = useState({ inputs: CARDS, consumers: CARDS });
  const layout = layoutOf(op, most, height);
  const menu = useOpMenu(store, op, layout);
  const more = (side: keyof typeof most, n: number) => setMost({ ...most, [side]: most[side] + n });
  const isOnWay = (card: Card) => store.chainStep.value !== undefined && isOnChain(store, card);
  const { inputs, consumers } = layout;
  return (
    <>
      <Why store={store} />
      {op.forward !== undefined && <GradientOf store={store} forward={op.forward} />}
      <div
        class="picture"
        ref={frame}
        role="group"
        aria-label="Inputs, op and consumers"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
        tabIndex={0}
        onContextMenu={menu.open}
      >
        <div class="picture-inner" style={{ height: `${layout.height}px` }}>
          <Curves width={width} op={op} layout={layout} isOnChain={isOnWay} />
          <ColumnTitles op={op} layout={layout} />
          <Cards store={store} side="input" column={inputs} />
          <Centre store={store} op={op} layout={layout} />
          <Cards store={store} side="consumer" column={consumers} />
          <More side="input" column={inputs} act={(n) => more("inputs", n)} />
          <More side="consumer" column={consumers} act={(n) => more("consumers", n)} />
        </div>
      </div>
      {menu.request !== undefined && <OpMenu store={store} request={menu.request} close={menu.close} />}
    </>
  );
}

/** Why an output of the op is bad. */
function Why({ store }: With<Uses>) {
  const loaded = store.explanation.value;
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  // The sentences of another op are not shown while those of this one are loading.
  if (loaded?.kind !== "ready" || loaded.value === undefined || loaded.value.why.length === 0) return null;
  return (
    <p class="why anywhere fixed ruled">
      <Words phrases={loaded.value.why} follow={store.follow} />
    </p>
  );
}

function ColumnTitles({ op, layout }: { readonly op: Neighbourhood; readonly layout: PictureLayout }) {
  return (
    <>
      <span class="column-title dim column-in">{columnTitle(layout.inputs, "input")}</span>
      <span class="column-title dim column-out">
        {op.consumersKnown
          ? columnTitle(layout.consumers, "consumer")
          : "consumers: not recorded for eager ops"}
      </span>
    </>
  );
}

function Cards({ store, side, column }: With<Uses, { side: Side; column: Column }>) {
  return column.cards.map((card, i) => (
    <NeighbourCard key={card.key} store={store} card={card} side={side} top={column.tops[i] ?? 0} />
  ));
}

/** "213 inputs", "60 of 213 inputs shown". */
function columnTitle({ cards: { length: drawn }, all }: Column, what: string): string {
  if (all === 0) return `no ${what}s`;
  return drawn < all ? `${drawn} of ${counted(all, what)} shown` : counted(all, what);
}

interface MoreProps {
  readonly side: Side;
  readonly column: Column;
  readonly act: (n: number) => void;
}

function More({ side, column, act }: MoreProps) {
  const left = column.all - column.cards.length;
  const top = column.tops.at(-1);
  if (left === 0 || top === undefined) return null;
  const n = Math.min(left, CARDS);
  return (
    <Button
      class={`small more-cards op-${side}`}
      style={{ top: `${top + CARD.height + CARD.gap}px` }}
      testId={`graph-structure-more-${side}`}
      act={() => act(n)}
      text={`Show ${n} more`}
    />
  );
}

/** A link from an op of a gradient, which a library creates, to the op in the user's own line. */
function GradientOf({ store, forward }: With<Uses, { forward: Forward }>) {
  return (
    <p class="forward fixed ruled nowrap">
      Part of the gradient of{" "}
      <Button
        class="link ellipsis"
        testId="graph-structure-forward"
        title={`Go to ${forward.op_name}`}
        act={() => store.follow(forwardTarget(forward))}
        text={forward.op_name}
      />
    </p>
  );
}
