/** The lists of a comparison: what changed in the program, and the tensors that differ. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Comparison, ProgramChange, Side, TensorDifference } from "../../api/comparison";
import { counted, grouped } from "../../base/text";
import { changeSide, differenceWords, shareWords, sideName, sideTarget } from "../../model/comparison";
import { lineName } from "../../model/origin";
import { TensorName } from "../numbers";
import { Button } from "../panel";
import type { With } from "../props";

type ListProps = { answer: Comparison };

/** The rows that are shown at first. */
const SHOWN = 40;

/** Ops that one run has, and ops with other types, constants or dtypes. */
export function Changes({ store, answer: { changes, num_changes } }: With<typeof Change, ListProps>) {
  return (
    <Some
      title={`${counted(num_changes, "change")} in the program`}
      testId="comparison-changes"
      total={num_changes}
      rows={changes.map((change, i) => <Change key={i} store={store} change={change} />)}
    />
  );
}

function Change({ store, change }: With<typeof Place, { change: ProgramChange }>) {
  const side = changeSide(change);
  return (
    <li>
      {side !== undefined && <Place store={store} side={side} isHere={change.first !== undefined} />}
      <span>{change.words}</span>
    </li>
  );
}

interface PlaceProps extends With<"comparison"> {
  readonly side: Side;
  /** Whether the run in focus has it. */
  readonly isHere: boolean;
}

/** Its name, which leads to it, and its line. */
function Place({ store, side, isHere }: PlaceProps) {
  const name = <TensorName name={sideName(side)} />;
  return (
    <span class="compare-place">
      {isHere && sideTarget(side).kind !== "nowhere" ? (
        <Button act={() => store.comparison.goTo(side)} text={name} />
      ) : (
        name
      )}
      {side.source !== undefined && <span class="dim">{lineName(side.source)}</span>}
    </span>
  );
}

/** The tensors that differ, in the order of time. */
export function Tensors({ store, answer: { tensors, num_tensors } }: With<typeof Tensor, ListProps>) {
  return (
    <Some
      title={counted(num_tensors, "tensor differs", "tensors differ")}
      testId="comparison-tensors"
      total={num_tensors}
      rows={tensors.map((tensor, i) => <Tensor key={i} store={store} tensor={tensor} />)}
    />
  );
}

function Tensor({ store, tensor }: With<"comparison", { tensor: TensorDifference }>) {
  const { first, what, inherited } = tensor;
  const isCurrent = store.comparison.inFocus.value === tensor;
  return (
    <li>
      <Button
        class="compare-tensor wide pile"
        aria-current={isCurrent ? "true" : undefined}
        testId="comparison-tensor"
        act={() => store.comparison.goTo(first)}
      >
        <span class="chain-head slim line">
          <TensorName name={sideName(first)} />
          <span class="dim">{first.source && lineName(first.source)}</span>
        </span>
        <span class="chain-note slim line ends dim">
          <span>{what}</span>
          <span>{inherited === undefined ? "" : `${shareWords(inherited)} inherited`}</span>
        </span>
        <span class="unseen">{differenceWords(tensor)}</span>
      </Button>
    </li>
  );
}

interface SomeProps {
  readonly title: string;
  readonly testId: string;
  readonly rows: readonly ComponentChildren[];
  /** How many there are, of which the answer has the first ones. */
  readonly total: number;
}

/** A list of which the first rows are shown until the reader wants all that the answer has. */
function Some({ title, testId, rows, total }: SomeProps) {
  const [isWhole, setWhole] = useState(false);
  const listed = isWhole ? rows : rows.slice(0, SHOWN);
  const left = total - rows.length;
  if (total === 0) return null;
  return (
    <section data-testid={testId}>
      <h3>{title}</h3>
      <ul class="compare-list">
        {listed}
        {listed.length < rows.length && (
          <li>
            <Button act={() => setWhole(true)} text={`… ${grouped(rows.length - listed.length)} more`} />
          </li>
        )}
        {listed.length === rows.length && left > 0 && (
          <li class="dim">{grouped(left)} more; tbdbg compare --json lists as many as the page.</li>
        )}
      </ul>
    </section>
  );
}
