/** The comparison of the run in focus with another one: what came out, where they part, and what else differs. */
import { useState } from "preact/hooks";
import type { Comparison } from "../../api/comparison";
import { shown } from "../../base/loaded";
import { counted } from "../../base/text";
import { type Outcome, outcomeOf, toleranceTyped } from "../../model/comparison";
import { titleOf } from "../../model/runs";
import { Button, Failure, Hint, IconButton } from "../panel";
import type { With } from "../props";
import { Changes, Tensors } from "./differences";
import { FirstDifference } from "./first_difference";
import { Part } from "./part";
import { TensorInFocus } from "./tensor_in_focus";

export function ComparisonPanel({ store }: With<"comparison" | typeof Answer | typeof Bar | typeof Waiting>) {
  const loaded = store.comparison.compared.value;
  return (
    <>
      <Bar store={store} />
      <div class="comparison" data-testid="comparison" aria-busy={loaded?.kind === "loading"}>
        {loaded?.kind === "failed" && <Failure message={loaded.message} />}
        {loaded?.kind === "loading" && <Waiting store={store} />}
        {loaded?.kind === "ready" && <Answer store={store} answer={loaded.value.answer} />}
      </div>
    </>
  );
}

/** Which runs are compared, how much of them is aligned, how they are compared, and the ways out. */
function Bar({ store }: With<"comparison" | typeof RunTitles>) {
  const { compared, compareAgain, compareWith, turnRound } = store.comparison;
  const found = shown(compared.value);
  const answer = found?.answer;
  return (
    <div class="lp-bar raised line wrap fixed ruled">
      <span class="lp-note dim grow ellipsis" data-testid="comparison-aligned">
        <RunTitles store={store} />
        {answer !== undefined &&
          ` · ${counted(answer.num_compared, "value")} of ${counted(answer.num_compared_tensors, "tensor")} compared`}
      </span>
      <Tolerance store={store} />
      {found?.isFinal === false && (
        <Button class="small" title="A run may have grown since" act={compareAgain} text="Compare again" />
      )}
      <IconButton label="Go to the other run" text="⇄" act={turnRound} />
      <IconButton label="Close the comparison" text="×" act={() => compareWith(undefined)} />
    </div>
  );
}

/** The relative difference that is allowed; an empty field leaves it to the server. */
function Tolerance({ store }: With<"comparison">) {
  const { tolerance, allow } = store.comparison;
  const [typed, setTyped] = useState(tolerance.value === undefined ? "" : String(tolerance.value));
  const isWrong = toleranceTyped(typed) === "wrong";
  const take = (text: string) => {
    setTyped(text);
    const value = toleranceTyped(text);
    if (value !== "wrong") allow(value);
  };
  return (
    <label class="compare-tolerance dim fixed">
      Tolerance{" "}
      <input
        class="value-number framed mono"
        inputMode="decimal"
        autocomplete="off"
        spellcheck={false}
        placeholder="automatic"
        title="A relative difference, such as 1e-5; empty: from rounding and depth"
        aria-invalid={isWrong}
        value={typed}
        data-testid="comparison-tolerance"
        onChange={(event) => take(event.currentTarget.value)}
      />
    </label>
  );
}

function RunTitles({ store }: With<"comparison" | "run" | "runs">) {
  const [run, other] = [store.run.value, store.comparison.other.value];
  const runs = shown(store.runs.value);
  if (run === undefined || other === undefined) return null;
  return (
    <>
      <b class="run-first">{titleOf(runs, run)}</b> and <b class="run-second">{titleOf(runs, other)}</b>
    </>
  );
}

/** A comparison begins when both runs are read. */
function Waiting({ store }: With<"comparison" | "runs">) {
  const reading = store.comparison.reading.value;
  if (reading === undefined) return <Hint>Comparing …</Hint>;
  const title = titleOf(shown(store.runs.value), reading.run);
  return (
    <div class="hint" role="status" data-testid="comparison-reading">
      The run {title} is still being read. It is compared as soon as that is done.{" "}
      <progress value={reading.share} max={1} aria-label={`Reading ${title}`} />{" "}
      {reading.share !== undefined && (
        <Button act={store.comparison.hurry} text="Compare what is read until now" />
      )}
    </div>
  );
}

const SIGNS: Readonly<Record<Outcome, { readonly sign: string; readonly look: string }>> = {
  differs: { sign: "≠", look: "bad" },
  changed: { sign: "≈", look: "warning" },
  grown: { sign: "✓", look: "good" },
  agrees: { sign: "✓", look: "good" },
  nothing: { sign: "?", look: "warning" },
};

function Answer({
  store,
  answer,
}: With<typeof FirstDifference | typeof TensorInFocus, { answer: Comparison }>) {
  const outcome = outcomeOf(answer);
  const { sign, look } = SIGNS[outcome];
  const first = answer.first_difference;
  return (
    <>
      <p
        class={`compare-verdict raised fixed ruled compare-${outcome}`}
        role="status"
        data-testid="comparison-verdict"
      >
        <b class={look} aria-hidden="true">
          {sign}
        </b>{" "}
        <b>{answer.headline}</b>
      </p>
      <div class="compare-parts short grow">
        {first !== undefined && <FirstDifference store={store} first={first} />}
        <TensorInFocus store={store} />
        {hasLists(answer) && (
          <Part name="lists" label="All differences">
            <Changes store={store} answer={answer} />
            <Tensors store={store} answer={answer} />
            <Notes notes={answer.notes} />
          </Part>
        )}
      </div>
    </>
  );
}

function hasLists({ num_changes, num_tensors, notes }: Comparison): boolean {
  return num_changes + num_tensors + notes.length > 0;
}

/** What was not compared. */
function Notes({ notes }: { readonly notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <section class="compare-notes" data-testid="comparison-notes">
      <h3>Not compared, or only in part</h3>
      <ul>
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </section>
  );
}
