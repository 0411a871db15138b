/** The chain of the origin that is shown: as a list in its card, and as a strip in the graph structure. */
import { useEffect, useRef, useState } from "preact/hooks";
import { counted } from "../base/text";
import { type ChainStep, listedSteps } from "../model/origin";
import { follow } from "./cause_parts";
import { TensorName } from "./numbers";
import { Button } from "./panel";
import type { With } from "./props";

/** From the first bad value that the program shows back to the birth. */
export function Chain({ store }: With<"chain" | typeof Steps>) {
  const [isWhole, setWhole] = useState(false);
  const steps = store.chain.value;
  if (steps.length < 2) return null;
  const { begin, hidden, end } = listedSteps(steps, isWhole);
  return (
    <section class="chain" data-testid="chain">
      <h3>How it came to the value that shows it</h3>
      <ol>
        <Steps store={store} steps={begin} />
        {hidden > 0 && (
          <li>
            <Button testId="chain-more" act={() => setWhole(true)} text={`… ${hidden} more`} />
          </li>
        )}
        <Steps store={store} steps={end} />
      </ol>
    </section>
  );
}

function Steps({ store, steps }: With<"chainStep" | typeof follow, { steps: readonly ChainStep[] }>) {
  return steps.map((step) => (
    <li key={step.position} value={step.position + 1}>
      <Button
        class={`chain-step ${step.isBirth ? "bold" : ""}`}
        title={stepTitle(step)}
        testId="chain-step"
        aria-current={step === store.chainStep.value ? "step" : undefined}
        disabled={step.target.kind === "nowhere"}
        act={() => follow(store, step.target)}
      >
        <span class="chain-head slim line">
          <span class="chip">{step.opType}</span>
          {step.title !== step.opType && <TensorName name={step.title} />}
        </span>
        <span class="chain-note slim line ends dim">
          <span>{step.relation}</span>
          <span>{step.place}</span>
        </span>
      </Button>
    </li>
  ));
}

function stepTitle({ title, relation, place, skipped }: ChainStep): string {
  const copies = skipped > 0 ? `${counted(skipped, "op")} between only passed it on` : undefined;
  return [title, relation, place, copies].filter(Boolean).join(" · ");
}

/** The steps from the birth on, as the graph structure flows, with the one in focus marked. */
export function ChainStrip({ store }: With<"chain" | "chainStep" | typeof StripStep>) {
  const steps = store.chain.value;
  const current = store.chainStep.value;
  const strip = useRef<HTMLDivElement>(null);
  // Only the strip scrolls: in a narrow window the page would leave what it opens on.
  useEffect(() => {
    const step = strip.current?.querySelector<HTMLElement>("[aria-current]");
    if (step)
      strip.current?.scrollTo({ left: step.offsetLeft + (step.offsetWidth - strip.current.offsetWidth) / 2 });
  }, [current]);
  if (steps.length < 2) return null;
  return (
    <nav class="chain-strip" ref={strip} aria-label="The way of the bad value" data-testid="chain-strip">
      {[...steps].reverse().map((step) => (
        <StripStep key={step.position} store={store} step={step} isCurrent={step === current} />
      ))}
    </nav>
  );
}

function StripStep({ store, step, isCurrent }: With<typeof follow, { step: ChainStep; isCurrent: boolean }>) {
  return (
    <>
      {!step.isBirth && <span aria-hidden="true">→</span>}
      <Button
        class={`chain-chip ${step.isBirth ? "bold" : ""}`}
        title={stepTitle(step)}
        testId="chain-chip"
        aria-current={isCurrent ? "step" : undefined}
        disabled={step.target.kind === "nowhere"}
        act={() => follow(store, step.target)}
        text={step.opType}
      />
    </>
  );
}
