/** The cards of the graph structure: one for the op in focus, and one for each neighbour. */
import type { ValueRef } from "../api/values";
import { isBad, type Summary } from "../model/health";
import { displayName, shortDevice, tensorName } from "../model/names";
import type { Card, Neighbourhood } from "../model/neighbourhood";
import { placeKey } from "../model/origin";
import { mayHoldValue, refOf } from "../model/values/value_ref";
import { CARD } from "./geometry";
import { BreakDot, OpTools } from "./live/op_menu";
import { NumericsWords, ShapeWords, TensorName, Verdict } from "./numbers";
import { Button } from "./panel";
import { MOST_OUTPUTS, type PictureLayout } from "./picture_layout";
import type { Of, Takes, With } from "./props";
import { StepNote } from "./steps";
import { ValueButton } from "./values/value_button";

type Uses = Takes<
  "chainKeys" | "chainStep" | "execution" | "subject",
  "focusGraph" | "follow",
  typeof BreakDot | typeof OpTools | typeof StepNote | typeof ValueButton
>;

export type Side = "input" | "consumer";

/** "feeds input 1", "takes output 0 as its input 2" */
function slotWords(card: Card, side: Side): string {
  return side === "input"
    ? `feeds input ${card.slot}`
    : `takes output ${card.slot} as its input ${card.takenAs ?? "?"}`;
}

/** What a click on the card does, and what the card is to the op. */
function cardTitle(card: Card, side: Side): string {
  const slot = slotWords(card, side);
  if (card.target.kind === "nowhere") return `This op was not recorded; it ${slot}`;
  return [`Go to ${card.title}`, slot, card.role, card.same && `same as ${card.same}`]
    .filter(Boolean)
    .join(" · ");
}

type NeighbourCardProps = With<Uses, { card: Card; side: Side; top: number }>;

/** A card, and above it the button that shows the elements. */
export function NeighbourCard(props: NeighbourCardProps) {
  const { store, card, side, top } = props;
  return (
    <>
      <NeighbourButton {...props} />
      {card.value !== undefined && (
        <ValueButton
          store={store}
          value={card.value}
          name={card.same ?? card.title}
          className={`value-of-card value-of-${side}`}
          style={{ top: `${top + CARD.height - 21}px` }}
        />
      )}
    </>
  );
}

function NeighbourButton({ store, card, side, top }: NeighbourCardProps) {
  return (
    <Button
      class={cardClass(store, card, side)}
      style={{ top: `${top}px`, height: `${CARD.height}px` }}
      testId={`graph-structure-${side}`}
      data-card={card.key}
      disabled={card.target.kind === "nowhere"}
      title={cardTitle(card, side)}
      act={() => store.follow(card.target)}
    >
      <span class="op-line slim line ends nowrap">
        <TensorName name={card.title} />
        <BreakDot store={store} target={card.target} />
        {card.takenAs !== undefined && <span class="taken-as fixed dim">in {card.takenAs}</span>}
      </span>
      <span class="op-line slim line ends nowrap">
        <span class="chip">{card.opType === undefined ? "not recorded" : displayName(card.opType)}</span>
        <CardMark card={card} />
      </span>
      {card.note === undefined ? (
        <Verdict summary={card.summary} />
      ) : (
        <span class="dim ellipsis">{card.note}</span>
      )}
    </Button>
  );
}

function cardClass(store: Of<Uses>, card: Card, side: Side): string {
  const isOnWay = isOnChain(store, card);
  return `op-card pile op-${side} ${isBad(card.summary) ? "op-bad" : ""} ${card.value ? "op-with-value" : ""} ${isOnWay ? "op-chain" : ""}`;
}

/** Whether the op is on the way of the bad value that is explained. */
export function isOnChain(store: Of<Uses>, card: Card): boolean {
  const key = placeKey(card.target);
  return key !== undefined && store.chainKeys.value.has(key);
}

/** What is said beside the op type. */
function CardMark({ card }: { readonly card: Card }) {
  if (card.same !== undefined) return <SameAs name={card.same} />;
  if (card.mark !== undefined) return <RoleMark words={card.mark} />;
  return card.summary === undefined ? null : <ShapeWords summary={card.summary} />;
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

export function Centre({ store, op, layout }: With<Uses, { op: Neighbourhood; layout: PictureLayout }>) {
  const { middle, centre } = layout;
  const device = shortDevice(op.device);
  return (
    <div
      class={`op-card pile op-centre ${op.outputs.some(isBad) ? "op-bad" : ""} ${store.chainStep.value ? "op-chain" : ""}`}
      style={{ top: `${middle - centre / 2}px`, minHeight: `${centre}px` }}
      data-testid="graph-structure-op"
      aria-current="true"
    >
      <OpTools store={store} />
      <span class="op-line slim line ends nowrap">
        <b>
          <TensorName name={op.opName ?? displayName(op.opType)} />
        </b>
      </span>
      <span class="op-line slim line ends nowrap">
        <span class="chip">{displayName(op.opType)}</span>
        {device !== undefined && <span class="dim">{device}</span>}
        <StepNote store={store} />
      </span>
      {op.role !== undefined && <RoleMark words={op.role} />}
      {op.same !== undefined && <SameAs name={op.same} />}
      {op.runs.length > 0 && <GraphsRun store={store} runs={op.runs} />}
      <Outputs store={store} op={op} />
    </div>
  );
}

function GraphsRun({ store, runs }: With<Uses, { runs: Neighbourhood["runs"] }>) {
  return (
    <span class="op-runs dim ellipsis">
      runs{" "}
      {runs.map(({ graph, name }, i) => (
        <span key={graph}>
          {i > 0 && ", "}
          <Button
            title={`Go to what ${name} computed last here`}
            testId="graph-structure-runs"
            act={() => void store.focusGraph(graph)}
            text={displayName(name)}
          />
        </span>
      ))}
    </span>
  );
}

/** The value of an output of the op in focus; undefined when its record holds none. */
function outputValue(store: Of<Uses>, summary: Summary, slot: number): ValueRef | undefined {
  const index = store.execution.value;
  if (store.subject.value === "op") return refOf(summary);
  return index !== undefined && mayHoldValue(summary) ? { kind: "execution", index, slot } : undefined;
}

function Outputs({ store, op }: With<Uses, { op: Neighbourhood }>) {
  const { outputs } = op;
  const name = op.opName ?? displayName(op.opType);
  const isOne = outputs.length <= 1;
  return (
    <>
      {outputs.slice(0, MOST_OUTPUTS).map((summary, slot) => (
        <span key={slot} class={isOne ? "op-output" : "op-output op-output-slot"}>
          {!isOne && <span class="dim num">:{slot}</span>}
          <span class="op-line slim line ends nowrap">
            <ShapeWords summary={summary} />
            <OutputButton
              store={store}
              value={outputValue(store, summary, slot)}
              name={tensorName(name, slot)}
            />
          </span>
          <Verdict summary={summary} />
          <NumericsWords summary={summary} />
        </span>
      ))}
      {outputs.length > MOST_OUTPUTS && (
        <span class="dim">and {outputs.length - MOST_OUTPUTS} more outputs</span>
      )}
    </>
  );
}

function OutputButton({ store, value, name }: With<Uses, { value: ValueRef | undefined; name: string }>) {
  return value === undefined ? null : <ValueButton store={store} value={value} name={name} />;
}
