/** A box for expressions over the held tensors, their results, and the change of the value at a pause. */
import { useRef, useState } from "preact/hooks";
import { dtypeName, shapeText } from "../../model/names";
import type { Evaluated } from "../../store/live/facts";
import { Button, Hint, IconButton } from "../panel";
import type { With } from "../props";
import { ChangeValue } from "./change_value";

export function Evaluate({ store }: With<typeof ChangeValue | typeof ExpressionBox | typeof Results>) {
  return (
    <div class="lp-evaluate scroll short grow">
      <section class="lp-part slim" aria-label="Evaluate">
        <ExpressionBox store={store} />
        <Results store={store} />
      </section>
      <ChangeValue store={store} />
    </div>
  );
}

const HINT =
  "NumPy over tensors in backticks, such as np.max(np.abs(`Log:0`)). Enter evaluates, the arrows up and down bring earlier expressions.";

function ExpressionBox({ store }: With<"livePanel">) {
  const panel = store.livePanel;
  const [text, setText] = useState("");
  const back = useRef(-1);
  const isBusy = panel.evaluated.value[0]?.result.kind === "loading";
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() === "" || isBusy) return;
    back.current = -1;
    void panel.evaluate(text);
    setText("");
  };
  const recall = (event: KeyboardEvent) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const all = panel.evaluated.value;
    if (by === undefined || all.length === 0) return;
    event.preventDefault();
    back.current = Math.max(-1, Math.min(all.length - 1, back.current + by));
    setText(all[back.current]?.expression ?? "");
  };
  return (
    <form class="line wrap" onSubmit={submit}>
      <input
        class="slice-field framed mono lp-expression grow"
        aria-label="Expression"
        title={HINT}
        placeholder="np.mean(`Log:0`)"
        autocomplete="off"
        spellcheck={false}
        value={text}
        data-testid="live-expression"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={recall}
      />
      <button type="submit" class="small" disabled={text.trim() === "" || isBusy}>
        Evaluate
      </button>
    </form>
  );
}

function Results({ store }: With<"livePanel" | typeof Result>) {
  const all = store.livePanel.evaluated.value;
  if (all.length === 0) return <Hint>{HINT}</Hint>;
  return (
    <ol class="lp-results" aria-label="Results, newest first">
      {all.map((one) => (
        <Result key={one.number} store={store} evaluated={one} />
      ))}
    </ol>
  );
}

function Result({ store, evaluated }: With<"livePanel", { evaluated: Evaluated }>) {
  const { expression, result } = evaluated;
  const value = result.kind === "ready" ? result.value : undefined;
  const hasElements = value?.done === true && value.tensor > 0;
  return (
    <li class="lp-result level" data-testid="live-result">
      <code class="ellipsis dim" title={expression}>
        {expression}
      </code>
      <span class="line">
        {hasElements && (
          <>
            <span class="dim">
              {dtypeName(value.dtype)} {shapeText(value.shape)}
            </span>
            <Button
              class="small"
              testId="live-result-view"
              act={() => store.livePanel.showResult(evaluated)}
              text="view"
            />
          </>
        )}
        <IconButton
          label={`Forget ${expression}`}
          title="Forget"
          text="×"
          act={() => store.livePanel.forgetEvaluated(evaluated.number)}
        />
      </span>
      <ResultText result={result} />
    </li>
  );
}

function ResultText({ result }: Pick<Evaluated, "result">) {
  if (result.kind === "loading") return <span class="dim lp-answer anywhere scroll">Evaluating …</span>;
  const { done, text } = result.kind === "failed" ? { done: false, text: result.message } : result.value;
  if (done) return <pre class="lp-answer anywhere scroll">{text}</pre>;
  return (
    <span class="bad lp-answer anywhere scroll" role="alert">
      {text}
    </span>
  );
}
