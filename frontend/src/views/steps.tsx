/** The step in focus: its number, the ways to the steps beside it, and a slider over all steps. */
import { grouped } from "../base/text";
import { stepWords } from "../model/steps";
import { Button } from "./panel";
import type { Takes, With } from "./props";

type Uses = Takes<
  "shownSteps" | "steps.ofFocus" | "steps.step",
  "steps.goToStep" | "steps.keepToStep" | "steps.stepBy"
>;

/** What a step is, by what decides it. */
const KINDS: Readonly<Record<string, string>> = {
  marked: "What the program marks with tb_debugger_plugin.step()",
  runs: "Runs of sessions: the program marks no steps",
  calls: "Calls of functions from Python: the program marks no steps",
};

export function StepBar({ store }: With<Uses>) {
  const of = store.steps.ofFocus.value;
  const step = store.steps.step.value;
  if (of === undefined || of.num_steps < 2) return null;
  const last = of.num_steps - 1;
  return (
    <span class="steps" data-testid="steps" title={KINDS[of.kind]}>
      <Beside store={store} by={-1} isEnd={step === undefined || step.step === 0} />
      <input
        type="range"
        min={0}
        max={last}
        value={step?.step ?? 0}
        aria-label="Step"
        aria-valuetext={step && stepWords(step)}
        disabled={step === undefined}
        onInput={(event) => void store.steps.goToStep(Number(event.currentTarget.value))}
      />
      <Beside store={store} by={1} isEnd={step === undefined || step.step >= last} />
      <span class="num">{step === undefined ? `${grouped(of.num_steps)} steps` : stepWords(step)}</span>
      <OnlyThis store={store} />
    </span>
  );
}

function Beside({ store, by, isEnd }: With<Uses, { by: 1 | -1; isEnd: boolean }>) {
  return (
    <Button
      class="small"
      title={by === 1 ? "The same op in the next step (])" : "The same op in the step before ([)"}
      testId={by === 1 ? "step-after" : "step-before"}
      disabled={isEnd}
      act={() => void store.steps.stepBy(by)}
      text={by === 1 ? "›" : "‹"}
    />
  );
}

function OnlyThis({ store }: With<Uses>) {
  const kept = store.shownSteps.value;
  return (
    <label title="List the graph executions of this step only">
      <input
        type="checkbox"
        checked={kept !== undefined}
        disabled={kept === undefined && store.steps.step.value === undefined}
        data-testid="step-only"
        onChange={(event) => store.steps.keepToStep(event.currentTarget.checked)}
      />{" "}
      only {kept === undefined ? "this step" : `step ${kept}`}
    </label>
  );
}

/** "step 3 of 40", of what is in focus. */
export function StepNote({ store }: With<"steps.step">) {
  const step = store.steps.step.value;
  return step === undefined || step.of < 2 ? null : <span class="dim nowrap">{stepWords(step)}</span>;
}
