/** The first tensor that differs materially: why, where, its numbers in both runs, and what its op took. */
import { Fragment } from "preact";
import type { FirstDifference as First, InputOfFirst, Side } from "../../api/comparison";
import { counted, grouped, significant } from "../../base/text";
import {
  causeWords,
  differenceWords,
  inheritedWords,
  inputWords,
  placeWords,
  sideName,
  sideTarget,
  toleranceWords,
} from "../../model/comparison";
import { displayName } from "../../model/names";
import { lineName, placeKey } from "../../model/origin";
import { Prose, TensorName } from "../numbers";
import { Button } from "../panel";
import type { With } from "../props";
import { Part } from "./part";

type FirstProps = With<"comparison" | "focusTarget", { first: First }>;

export function FirstDifference({ store, first }: FirstProps) {
  return (
    <Part name="first" label="First difference">
      <Name store={store} first={first} />
      <SourceLine store={store} side={first.first} />
      <Measures store={store} first={first} />
      <p>
        <Prose text={first.explanation} />
      </p>
      <Inputs store={store} inputs={first.inputs} />
    </Part>
  );
}

/** The tensor, which a click brings into focus again. */
function Name({ store, first: { first } }: FirstProps) {
  const isInFocus = placeKey(store.focusTarget.value) === placeKey(sideTarget(first));
  return (
    <p class="compare-name line">
      <span class="chip">{displayName(first.op_type)}</span>
      {first.op_name !== undefined && <TensorName name={sideName(first)} />}
      {!isInFocus && (
        <Button class="small" testId="show-first" act={() => store.comparison.goTo(first)} text="Show it" />
      )}
    </p>
  );
}

/** The line of the user's own code; a click opens the source at it. */
function SourceLine({ store, side }: With<"comparison", { side: Side }>) {
  const { source } = side;
  if (source === undefined) return null;
  return (
    <p class="where">
      <Button title={source.path} testId="difference-line" act={() => store.comparison.showLine(side)}>
        {lineName(source)}
        {source.function !== undefined && ` in ${source.function}`}
      </Button>
      {source.text !== undefined && <code>{source.text}</code>}
    </p>
  );
}

/** Why and where it is, how large, what was allowed, and how much of it came in. */
function Measures({ store, first }: FirstProps) {
  const { occurrence, compared, inherited, values } = first;
  const isChosen = store.comparison.tolerance.value !== undefined;
  const rows = {
    cause: causeWords(first.cause),
    place: placeWords(first.first),
    difference: differenceWords(first),
    tolerance: toleranceWords(first, isChosen),
    inherited: inheritedWords(inherited),
    occurrence: `${grouped(occurrence + 1)} of ${grouped(compared)} that were compared`,
    elements: values && elementWords(values),
  };
  return (
    <dl class="measures" data-testid="difference-measures">
      {Object.entries(rows).map(
        ([name, words]) =>
          words !== undefined && (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd data-testid={`difference-${name}`}>{words}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}

function elementWords({ size, num_different, max_absolute }: NonNullable<First["values"]>): string {
  const largest = max_absolute === undefined ? "" : `, by up to ${significant(max_absolute)}`;
  return `${grouped(num_different)} of ${counted(size, "element")} differ${largest}`;
}

/** What the op takes: whether it differed already. */
function Inputs({ store, inputs }: With<"comparison", { inputs: readonly InputOfFirst[] }>) {
  if (inputs.length === 0) return null;
  return (
    <section data-testid="difference-inputs">
      <h3>{counted(inputs.length, "input")}</h3>
      <ul class="compare-list">
        {inputs.map((input, i) => (
          <Input key={i} store={store} input={input} />
        ))}
      </ul>
    </section>
  );
}

function Input({ store, input }: With<"comparison", { input: InputOfFirst }>) {
  const side = input.first ?? input.second;
  if (side === undefined) return null;
  const { first } = input;
  return (
    <li class="compare-input">
      {first !== undefined && sideTarget(first).kind !== "nowhere" ? (
        <Button act={() => store.comparison.goTo(first)}>
          <TensorName name={sideName(first)} />
        </Button>
      ) : (
        <span>
          <TensorName name={sideName(side)} /> <span class="dim">only in the other run</span>
        </span>
      )}
      <span class={input.is_within === false ? "bad" : "dim"}>{inputWords(input)}</span>
    </li>
  );
}
