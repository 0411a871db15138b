/** The op in focus between what goes into it and what its outputs go to. */
import { useRef } from "preact/hooks";
import type { Forward } from "../api/answers";
import { shown } from "../base/loaded";
import { counted } from "../base/text";
import { isBad, numericsWords } from "../model/health";
import { displayName, isFunctionName } from "../model/names";
import {
  CARD_HEIGHT,
  type Card,
  cardTops,
  columnHeight,
  curve,
  forwardTarget,
  type Neighbourhood,
} from "../model/neighbourhood";
import { explainOp } from "../model/suspect";
import { canMove } from "../model/walk";
import type { Store } from "../store/store";
import { shortDevice } from "./execution_card";
import { useSize } from "./hooks";
import { NumericsWords, ShapeWords, TensorName, Verdict, Words } from "./numbers";
import { Failure, Hint, Panel } from "./panel";

const MOST_CARDS = 60;
const MOST_OUTPUTS = 4;
const SIDE = 8;
/** Height of the line over the columns. */
const TITLES = 24;

export function GraphStructure({ store }: { readonly store: Store }) {
  const loaded = store.neighbourhood.value;
  const op = shown(loaded);
  return (
    <Panel
      title="Graph structure"
      className="structure"
      note={<Breadcrumb store={store} />}
      tools={<WalkButtons store={store} />}
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
        <Picture store={store} op={op} />
      )}
    </Panel>
  );
}

function Breadcrumb({ store }: { readonly store: Store }) {
  if (store.subject.value === "execution") {
    const data = shown(store.executionData.value);
    if (data === undefined) return null;
    return <span>{isFunctionName(data.op_type) ? "called from Python" : "run eagerly"}</span>;
  }
  const all = shown(store.breadcrumb.value) ?? [];
  // The graph in which everything begins has no name in TensorFlow's own recordings.
  const graphs = all.filter(({ name }, i) => name !== undefined || i === all.length - 1);
  const text = graphs
    .map(({ name, id }) => (name === undefined ? id.slice(0, 8) : displayName(name)))
    .join(" › ");
  return <span title={text}>{text}</span>;
}

function WalkButtons({ store }: { readonly store: Store }) {
  const walk = store.walk.value;
  return (
    <div class="tools">
      <button
        type="button"
        class="icon"
        title="Back to the op before"
        aria-label="Back to the op before"
        disabled={!canMove(walk, -1)}
        onClick={store.back}
      >
        ←
      </button>
      <button
        type="button"
        class="icon"
        title="Forward again"
        aria-label="Forward again"
        disabled={!canMove(walk, 1)}
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
  const inputs = op.inputs.slice(0, MOST_CARDS);
  const consumers = op.consumers.slice(0, MOST_CARDS);
  const extra = (op.belongs === undefined ? 0 : 18) + (op.runs.length === 0 ? 0 : 18);
  const shown = op.outputs.slice(0, MOST_OUTPUTS);
  const numerics = shown.reduce((lines, summary) => lines + numericsWords(summary).length, 0);
  const centre = 46 + extra + 34 * Math.max(1, shown.length) + 16 * numerics;
  const tallest = Math.max(columnHeight(inputs.length), columnHeight(consumers.length), centre);
  const full = Math.max(TITLES + tallest + SIDE, height);
  // The op stays in the first view, however long its columns are.
  const middle = Math.max(TITLES + centre / 2, (TITLES + Math.min(full, height)) / 2);
  const inputTops = cardTops(inputs.length, middle, TITLES);
  const consumerTops = cardTops(consumers.length, middle, TITLES);
  const why = explainOp(op);
  return (
    <>
      {why !== undefined && (
        <p class="why">
          <Words phrases={why.why} />
        </p>
      )}
      {op.forward !== undefined && <GradientOf store={store} forward={op.forward} />}
      <div class="picture" ref={frame} role="group" aria-label="Inputs, op and consumers">
        <div class="picture-inner" style={{ height: `${full}px` }}>
          <Curves
            width={width}
            middle={middle}
            inputs={op.inputs}
            inputTops={inputTops}
            consumers={consumers}
            consumerTops={consumerTops}
          />
          <span class="column-title column-in">
            {inputs.length === 0 ? "no inputs" : counted(op.inputs.length, "input")}
          </span>
          <span class="column-title column-out">
            {op.consumersKnown
              ? consumers.length === 0
                ? "no consumers"
                : counted(op.consumers.length, "consumer")
              : "consumers: not recorded for eager ops"}
          </span>
          {inputs.map((card, i) => (
            <NeighbourCard key={card.key} store={store} card={card} side="input" top={inputTops[i] ?? 0} />
          ))}
          <Centre op={op} top={middle - centre / 2} height={centre} />
          {consumers.map((card, i) => (
            <NeighbourCard
              key={card.key}
              store={store}
              card={card}
              side="consumer"
              top={consumerTops[i] ?? 0}
            />
          ))}
        </div>
      </div>
    </>
  );
}

/** From an op of a gradient, which was made inside a library, to the op in the user's own line. */
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
  readonly inputs: readonly Card[];
  readonly inputTops: readonly number[];
  readonly consumers: readonly Card[];
  readonly consumerTops: readonly number[];
}

/** Columns end at these shares of the width; the style sheet says the same. */
const ENDS = { input: 0.32, opLeft: 0.355, opRight: 0.645, consumer: 0.68 } as const;

function Curves({ width, middle, inputs, inputTops, consumers, consumerTops }: CurvesProps) {
  return (
    <svg class="curves" aria-hidden="true" width={width} height="100%">
      {inputTops.map((top, i) => (
        <path
          key={`i${top}`}
          class={isBad(inputs[i]?.summary) ? "curve curve-bad" : "curve"}
          d={curve(width * ENDS.input, top + CARD_HEIGHT / 2, width * ENDS.opLeft, middle)}
        />
      ))}
      {consumerTops.map((top, i) => (
        <path
          key={`c${top}`}
          class={isBad(consumers[i]?.summary) ? "curve curve-bad" : "curve"}
          d={curve(width * ENDS.opRight, middle, width * ENDS.consumer, top + CARD_HEIGHT / 2)}
        />
      ))}
    </svg>
  );
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
      style={{ top: `${top}px`, height: `${CARD_HEIGHT}px` }}
      data-testid={`graph-structure-${side}`}
      disabled={dead}
      title={
        dead ? "This op was not recorded" : [`Go to ${card.title}`, card.belongs].filter(Boolean).join(" · ")
      }
      onClick={() => store.follow(card.target)}
    >
      <span class="op-line">
        <TensorName name={card.title} />
      </span>
      <span class="op-line">
        <span class="chip">{card.opType === undefined ? "not recorded" : displayName(card.opType)}</span>
        {card.mark !== undefined ? (
          <Belongs words={card.mark} />
        ) : (
          card.summary !== undefined && <ShapeWords summary={card.summary} />
        )}
      </span>
      {card.note === undefined ? <Verdict summary={card.summary} /> : <span class="dim">{card.note}</span>}
    </button>
  );
}

function Belongs({ words }: { readonly words: string }) {
  return (
    <span class="belongs ellipsis" title={words}>
      {words}
    </span>
  );
}

function Centre({
  op,
  top,
  height,
}: {
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
      {op.belongs !== undefined && <Belongs words={op.belongs} />}
      {op.runs.length > 0 && (
        <span class="op-line dim ellipsis" title={op.runs.join(", ")}>
          runs {op.runs.map(displayName).join(", ")}
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
