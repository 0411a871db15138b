/** A box for expressions over the held tensors, their results, and the change of the value at a pause. */
import { useRef, useState } from "preact/hooks";
import { summaryOf } from "../../model/live/tensor_rows";
import { dtypeName, shapeText } from "../../model/names";
import type { Evaluated } from "../../store/live/facts";
import { Verdict } from "../numbers";
import { Button, Hint, IconButton } from "../panel";
import type { With } from "../props";
import { ChangeValue } from "./change_value";

type Uses = typeof ChangeValue | typeof ExpressionBox | typeof Results | typeof Watches;

export function Evaluate({ store }: With<Uses>) {
  return (
    <div class="lp-evaluate scroll short grow">
      <section class="lp-part slim" aria-label="Evaluate">
        <ExpressionBox store={store} />
        <Watches store={store} />
        <Results store={store} />
      </section>
      <ChangeValue store={store} />
    </div>
  );
}

const HINT =
  "NumPy over tensors in backticks, such as np.max(np.abs(`Log:0`)). Enter evaluates, the arrows up and down bring earlier expressions.";

function ExpressionBox({ store }: With<"livePanel" | typeof WatchButton>) {
  const panel = store.livePanel;
  const [text, setText] = useState("");
  const { recall, begin } = useRecall(panel.evaluated.value, setText);
  const isBusy = panel.evaluated.value[0]?.result.kind === "loading";
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() === "" || isBusy) return;
    begin();
    void panel.evaluate(text);
    setText("");
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
      <WatchButton store={store} text={text} clear={() => setText("")} />
    </form>
  );
}

/** The arrows up and down bring earlier expressions; `begin` begins with the last one again. */
function useRecall(all: readonly Evaluated[], setText: (text: string) => void) {
  const back = useRef(-1);
  const recall = (event: KeyboardEvent) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by === undefined || all.length === 0) return;
    event.preventDefault();
    back.current = Math.max(-1, Math.min(all.length - 1, back.current + by));
    setText(all[back.current]?.expression ?? "");
  };
  return {
    recall,
    begin: () => {
      back.current = -1;
    },
  };
}

function WatchButton({ store, text, clear }: With<"livePanel", { text: string; clear: () => void }>) {
  const add = () => {
    store.livePanel.addWatch(text);
    clear();
  };
  return (
    <Button
      class="small"
      disabled={text.trim() === ""}
      title="Evaluate it anew at each pause"
      testId="live-watch-add"
      act={add}
      text="Watch"
    />
  );
}

/** The expressions that are evaluated anew at each pause. */
function Watches({ store }: With<"live" | "livePanel" | typeof Row>) {
  const { watches, watchResults, removeWatch } = store.livePanel;
  const program = store.live.program.value?.id;
  if (watches.value.length === 0 || program === undefined) return null;
  return (
    <ol class="lp-results" aria-label="Watch expressions">
      {watches.value.map((expression) => (
        <Row
          key={expression}
          store={store}
          evaluated={{ program, expression, result: watchResults.value.of.get(expression) ?? NOT_YET }}
          forget={() => removeWatch(expression)}
          testId="watch-expression"
        />
      ))}
    </ol>
  );
}

const NOT_YET: Evaluated["result"] = { kind: "loading", stale: undefined };

function Results({ store }: With<"livePanel" | typeof Row>) {
  const { evaluated, watches, forgetEvaluated } = store.livePanel;
  const all = evaluated.value;
  if (all.length === 0) return watches.value.length === 0 ? <Hint>{HINT}</Hint> : null;
  return (
    <ol class="lp-results" aria-label="Results, newest first">
      {all.map((one) => (
        <Row
          key={one.number}
          store={store}
          evaluated={one}
          forget={() => forgetEvaluated(one.number)}
          testId="live-result"
        />
      ))}
    </ol>
  );
}

interface RowProps extends With<"livePanel"> {
  readonly evaluated: Omit<Evaluated, "number">;
  readonly forget: () => void;
  readonly testId: string;
}

function Row({ store, evaluated, forget, testId }: RowProps) {
  const { expression, result } = evaluated;
  const value = result.kind === "ready" ? result.value : undefined;
  const hasElements = value?.done === true && value.tensor > 0;
  return (
    <li class="lp-result level" data-testid={testId}>
      <code class="ellipsis dim" title={expression}>
        {expression}
      </code>
      <span class="line">
        {hasElements && (
          <>
            <span class="dim">
              {dtypeName(value.dtype)} {shapeText(value.shape)}
            </span>
            {value.numbers.length > 0 && <Verdict summary={summaryOf(value)} />}
            <Button
              class="small"
              testId="live-result-view"
              act={() => store.livePanel.showResult(evaluated)}
              text="view"
            />
          </>
        )}
        <IconButton label={`Forget ${expression}`} title="Forget" text="×" act={forget} />
      </span>
      <ResultText result={result} />
    </li>
  );
}

function ResultText({ result }: Pick<Evaluated, "result">) {
  if (result === NOT_YET) return <span class="dim lp-answer">Evaluated at the next pause.</span>;
  if (result.kind === "loading") return <span class="dim lp-answer anywhere scroll">Evaluating …</span>;
  const { done, text } = result.kind === "failed" ? { done: false, text: result.message } : result.value;
  if (done) return <pre class="lp-answer anywhere scroll">{text}</pre>;
  return (
    <span class="bad lp-answer anywhere scroll" role="alert">
      {text}
    </span>
  );
}
