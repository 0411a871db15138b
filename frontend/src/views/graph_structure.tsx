/** The op in focus between its inputs and the consumers of its outputs. */
import { useRef, useState } from "preact/hooks";
import type { Forward } from "../api/answers";
import { shown } from "../base/loaded";
import { counted } from "../base/text";
import { isBad, numericsWords } from "../model/health";
import { canMove } from "../model/history";
import { displayName, isFunctionName } from "../model/names";
import {
  type Card,
  cardTops,
  columnHeight,
  curve,
  forwardTarget,
  type Neighbourhood,
  portOffset,
} from "../model/neighbourhood";
import type { Store } from "../store/store";
import { shortDevice } from "./execution_card";
import { CARD, CARD_MARGIN, COLUMN_ENDS, COLUMN_TITLE, MORE_CARDS } from "./geometry";
import { useSize } from "./hooks";
import { NumericsWords, ShapeWords, TensorName, Verdict, Words } from "./numbers";
import { Failure, Hint, Panel } from "./panel";

/** The number of cards drawn at first, and added with each press of the button for more. */
const CARDS = 60;
const MOST_OUTPUTS = 4;

export function GraphStructure({ store }: { readonly store: Store }) {
  const loaded = store.neighbourhood.value;
  const op = shown(loaded);
  return (
    <Panel
      title="Graph structure"
      className="structure"
      note={<Breadcrumb store={store} />}
      tools={<HistoryButtons store={store} />}
    >
      {loaded?.kind === "failed" ? (
        <Failure message={loaded.message} />
      ) : op === undefined ? (
        <Hint>
          {loaded === undefined
            ? "Choose a tensor in the graph executions to see what its op takes and gives."
            : "Loading …"}
        </Hint>
      ) : (
        <Picture key={pictureKey(store)} store={store} op={op} />
      )}
    </Panel>
  );
}

/** The key of the picture: each op has its own, which begins at its top with the first cards. */
function pictureKey(store: Store): string {
  const op = store.op.value;
  return store.subject.value === "op" ? `${op?.graph} ${op?.opName}` : `#${store.execution.value}`;
}

function Breadcrumb({ store }: { readonly store: Store }) {
  if (store.subject.value === "execution") {
    const data = shown(store.executionData.value);
    if (data === undefined) return null;
    return <span>{isFunctionName(data.op_type) ? "called from Python" : "run eagerly"}</span>;
  }
  const all = shown(store.breadcrumb.value) ?? [];
  // In recordings of TensorFlow itself, the outermost graph has no name.
  const graphs = all.filter(({ name }, i) => name !== undefined || i === all.length - 1);
  const text = graphs
    .map(({ name, id }) => (name === undefined ? id.slice(0, 8) : displayName(name)))
    .join(" › ");
  return <span title={text}>{text}</span>;
}

function HistoryButtons({ store }: { readonly store: Store }) {
  const history = store.history.value;
  return (
    <div class="tools">
      <button
        type="button"
        class="icon"
        title="Back to the op before"
        aria-label="Back to the op before"
        disabled={!canMove(history, -1)}
        onClick={store.back}
      >
        ←
      </button>
      <button
        type="button"
        class="icon"
        title="Forward again"
        aria-label="Forward again"
        disabled={!canMove(history, 1)}
        onClick={store.forward}
      >
        →
      </button>
    </div>
  );
}

function Picture({ store, op }: { readonly store: Store; readonly op: Neighbourhood }) {
  const frame = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(frame);
  const [most, setMost] = useState({ inputs: CARDS, consumers: CARDS });
  const inputs = op.inputs.slice(0, most.inputs);
  const consumers = op.consumers.slice(0, most.consumers);
  const extra = 18 * [op.role, op.runs[0], op.same].filter((line) => line !== undefined).length;
  const shown = op.outputs.slice(0, MOST_OUTPUTS);
  const numerics = shown.reduce((lines, summary) => lines + numericsWords(summary).length, 0);
  const centre = 46 + extra + 34 * Math.max(1, shown.length) + 16 * numerics;
  const isCut = inputs.length < op.inputs.length || consumers.length < op.consumers.length;
  const tallest =
    Math.max(columnHeight(inputs.length, CARD), columnHeight(consumers.length, CARD), centre) +
    (isCut ? MORE_CARDS.height + MORE_CARDS.gap : 0);
  const full = Math.max(COLUMN_TITLE + tallest + CARD_MARGIN, height);
  // The op is visible without scrolling, even if its columns are long.
  const middle = Math.max(COLUMN_TITLE + centre / 2, (COLUMN_TITLE + Math.min(full, height)) / 2);
  const inputTops = cardTops(inputs.length, middle, COLUMN_TITLE, CARD);
  const consumerTops = cardTops(consumers.length, middle, COLUMN_TITLE, CARD);
  return (
    <>
      <Why store={store} />
      {op.forward !== undefined && <GradientOf store={store} forward={op.forward} />}
      <div class="picture" ref={frame} role="group" aria-label="Inputs, op and consumers">
        <div class="picture-inner" style={{ height: `${full}px` }}>
          <Curves
            width={width}
            middle={middle}
            centre={centre}
            op={op}
            inputs={inputs}
            inputTops={inputTops}
            consumers={consumers}
            consumerTops={consumerTops}
          />
          <span class="column-title column-in">{columnTitle(inputs.length, op.inputs.length, "input")}</span>
          <span class="column-title column-out">
            {op.consumersKnown
              ? columnTitle(consumers.length, op.consumers.length, "consumer")
              : "consumers: not recorded for eager ops"}
          </span>
          {inputs.map((card, i) => (
            <NeighbourCard key={card.key} store={store} card={card} side="input" top={inputTops[i] ?? 0} />
          ))}
          <Centre store={store} op={op} top={middle - centre / 2} height={centre} />
          {consumers.map((card, i) => (
            <NeighbourCard
              key={card.key}
              store={store}
              card={card}
              side="consumer"
              top={consumerTops[i] ?? 0}
            />
          ))}
          <More
            side="input"
            left={op.inputs.length - inputs.length}
            top={inputTops.at(-1)}
            act={(n) => setMost({ ...most, inputs: most.inputs + n })}
          />
          <More
            side="consumer"
            left={op.consumers.length - consumers.length}
            top={consumerTops.at(-1)}
            act={(n) => setMost({ ...most, consumers: most.consumers + n })}
          />
        </div>
      </div>
    </>
  );
}

/** Why an output of the op is bad. */
function Why({ store }: { readonly store: Store }) {
  const loaded = store.explanation.value;
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  // The sentences of another op are not shown while those of this one are loading.
  if (loaded?.kind !== "ready" || loaded.value === undefined || loaded.value.why.length === 0) return null;
  return (
    <p class="why">
      <Words phrases={loaded.value.why} follow={store.follow} />
    </p>
  );
}

/** "213 inputs", "60 of 213 inputs shown". */
function columnTitle(drawn: number, all: number, what: string): string {
  if (all === 0) return `no ${what}s`;
  return drawn < all ? `${drawn} of ${counted(all, what)} shown` : counted(all, what);
}

interface MoreProps {
  readonly side: "input" | "consumer";
  /** The number of cards that are not drawn. */
  readonly left: number;
  /** The top of the last card that is drawn. */
  readonly top: number | undefined;
  readonly act: (n: number) => void;
}

function More({ side, left, top, act }: MoreProps) {
  if (left === 0 || top === undefined) return null;
  const n = Math.min(left, CARDS);
  return (
    <button
      type="button"
      class={`small more-cards op-${side}`}
      style={{ top: `${top + CARD.height + CARD.gap}px` }}
      data-testid={`graph-structure-more-${side}`}
      onClick={() => act(n)}
    >
      Show {n} more
    </button>
  );
}

/** A link from an op of a gradient, which a library creates, to the op in the user's own line. */
function GradientOf({ store, forward }: { readonly store: Store; readonly forward: Forward }) {
  return (
    <p class="forward">
      Part of the gradient of{" "}
      <button
        type="button"
        class="link ellipsis"
        data-testid="graph-structure-forward"
        title={`Go to ${forward.op_name}`}
        onClick={() => store.follow(forwardTarget(forward))}
      >
        {forward.op_name}
      </button>
    </p>
  );
}

interface CurvesProps {
  readonly width: number;
  readonly middle: number;
  /** Height of the op's own card. */
  readonly centre: number;
  readonly op: Neighbourhood;
  readonly inputs: readonly Card[];
  readonly inputTops: readonly number[];
  readonly consumers: readonly Card[];
  readonly consumerTops: readonly number[];
}

/**
 * The curves from each card to its slot of the op; with several slots, the number of the slot is at the card.
 */
function Curves({ width, middle, centre, op, inputs, inputTops, consumers, consumerTops }: CurvesProps) {
  const [left, right] = [op.inputs.length, op.outputs.length];
  return (
    <svg class="curves" aria-hidden="true" width={width} height="100%">
      {inputs.map(({ key, slot, summary }, i) => {
        const y = (inputTops[i] ?? 0) + CARD.height / 2;
        const port = middle + portOffset(slot, left, centre);
        return (
          <g key={key}>
            <path
              class={isBad(summary) ? "curve curve-bad" : "curve"}
              d={curve(width * COLUMN_ENDS.input, y, width * COLUMN_ENDS.opLeft, port)}
            />
            {left > 1 && (
              <text class="slot-number" x={width * COLUMN_ENDS.input + 2} y={besideCurve(y, port)}>
                {slot}
              </text>
            )}
          </g>
        );
      })}
      {consumers.map(({ key, slot, summary }, i) => {
        const y = (consumerTops[i] ?? 0) + CARD.height / 2;
        const port = middle + portOffset(slot, right, centre);
        return (
          <g key={key}>
            <path
              class={isBad(summary) ? "curve curve-bad" : "curve"}
              d={curve(width * COLUMN_ENDS.opRight, port, width * COLUMN_ENDS.consumer, y)}
            />
            {right > 1 && (
              <text
                class="slot-number slot-of-output"
                x={width * COLUMN_ENDS.consumer - 2}
                y={besideCurve(y, port)}
              >
                :{slot}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

/**
 * The height of a slot number: above a curve that goes down, below a curve that goes up, so that they do not
 * cross.
 */
function besideCurve(from: number, to: number): number {
  return from > to ? from + 12 : from - 4;
}

/** "feeds input 1", "takes output 0 as its input 2" */
function slotWords(card: Card, side: "input" | "consumer"): string {
  return side === "input"
    ? `feeds input ${card.slot}`
    : `takes output ${card.slot} as its input ${card.takenAs ?? "?"}`;
}

function NeighbourCard({
  store,
  card,
  side,
  top,
}: {
  readonly store: Store;
  readonly card: Card;
  readonly side: "input" | "consumer";
  readonly top: number;
}) {
  const dead = card.target.kind === "nowhere";
  return (
    <button
      type="button"
      class={`op-card op-${side} ${isBad(card.summary) ? "op-bad" : ""}`}
      style={{ top: `${top}px`, height: `${CARD.height}px` }}
      data-testid={`graph-structure-${side}`}
      disabled={dead}
      title={
        dead
          ? `This op was not recorded; it ${slotWords(card, side)}`
          : [`Go to ${card.title}`, slotWords(card, side), card.role, card.same && `same as ${card.same}`]
              .filter(Boolean)
              .join(" · ")
      }
      onClick={() => store.follow(card.target)}
    >
      <span class="op-line">
        <TensorName name={card.title} />
        {card.takenAs !== undefined && <span class="taken-as dim">in {card.takenAs}</span>}
      </span>
      <span class="op-line">
        <span class="chip">{card.opType === undefined ? "not recorded" : displayName(card.opType)}</span>
        {card.same !== undefined ? (
          <SameAs name={card.same} />
        ) : card.mark !== undefined ? (
          <RoleMark words={card.mark} />
        ) : (
          card.summary !== undefined && <ShapeWords summary={card.summary} />
        )}
      </span>
      {card.note === undefined ? <Verdict summary={card.summary} /> : <span class="dim">{card.note}</span>}
    </button>
  );
}

function RoleMark({ words }: { readonly words: string }) {
  return (
    <span class="tensor-role ellipsis" title={words}>
      {words}
    </span>
  );
}

/** Names the tensor whose numbers are shown for an op that passes it on. */
function SameAs({ name }: { readonly name: string }) {
  return (
    <span class="dim ellipsis" title={`This op passes on ${name}; the numbers are its`}>
      same as {name}
    </span>
  );
}

function Centre({
  store,
  op,
  top,
  height,
}: {
  readonly store: Store;
  readonly op: Neighbourhood;
  readonly top: number;
  readonly height: number;
}) {
  const bad = op.outputs.some(isBad);
  const device = shortDevice(op.device);
  return (
    <div
      class={`op-card op-centre ${bad ? "op-bad" : ""}`}
      style={{ top: `${top}px`, minHeight: `${height}px` }}
      data-testid="graph-structure-op"
      aria-current="true"
    >
      <span class="op-line">
        <b>
          <TensorName name={op.opName ?? displayName(op.opType)} />
        </b>
      </span>
      <span class="op-line">
        <span class="chip">{displayName(op.opType)}</span>
        {device !== undefined && <span class="dim">{device}</span>}
      </span>
      {op.role !== undefined && <RoleMark words={op.role} />}
      {op.same !== undefined && <SameAs name={op.same} />}
      {op.runs.length > 0 && (
        <span class="op-runs dim ellipsis">
          runs{" "}
          {op.runs.map(({ graph, name }, i) => (
            <span key={graph}>
              {i > 0 && ", "}
              <button
                type="button"
                class="link"
                title={`Go to what ${name} computed last here`}
                data-testid="graph-structure-runs"
                onClick={() => void store.focusGraph(graph)}
              >
                {displayName(name)}
              </button>
            </span>
          ))}
        </span>
      )}
      {op.outputs.slice(0, MOST_OUTPUTS).map((summary, slot) => (
        <span key={slot} class={op.outputs.length > 1 ? "op-output op-output-slot" : "op-output"}>
          {op.outputs.length > 1 && <span class="dim num">:{slot}</span>}
          <ShapeWords summary={summary} />
          <Verdict summary={summary} />
          <NumericsWords summary={summary} />
        </span>
      ))}
      {op.outputs.length > MOST_OUTPUTS && (
        <span class="dim">and {op.outputs.length - MOST_OUTPUTS} more outputs</span>
      )}
    </div>
  );
}
