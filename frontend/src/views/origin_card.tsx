/** The card of an origin: what was born where, why, what helps, by which way it spread, and the other origins. */
import type { Origin } from "../api/answers";
import { counted } from "../base/text";
import { fromWire } from "../model/health";
import type { Target } from "../model/neighbourhood";
import {
  certaintyWords,
  expectedWords,
  kindWords,
  lineName,
  momentWords,
  originKey,
  originLabel,
  placeTarget,
} from "../model/origin";
import { Change, Elements, follow } from "./cause_parts";
import { Chain } from "./chain";
import { NumericsWords, Prose, TensorName, Verdict, Words } from "./numbers";
import { Button, Failure } from "./panel";
import type { With } from "./props";

type Uses =
  | ("lists" | "originValue" | "origins" | "chooseOrigin" | "replay")
  | typeof Chain
  | typeof Elements;

type OriginProps = With<Uses, { origin: Origin }>;

export function OriginCard({ store, origin }: OriginProps) {
  return (
    <div class={`first-bad origin-${origin.category}`} data-testid="first-bad" key={originKey(origin)}>
      <Told store={store} origin={origin} />
      <Evidence origin={origin} />
      <Elements store={store} loaded={store.originValue.value} element={origin.element} />
      <Chain store={store} />
      <OtherOrigins store={store} />
      <ExpectedOrigins store={store} />
    </div>
  );
}

function Told({ store, origin }: OriginProps) {
  const { phrases, advice, example, tried, missing } = origin;
  const go = (target: Target) => follow(store, target);
  const doubt = certaintyWords(origin);
  return (
    <>
      <p>
        <b>{originLabel(origin)} </b>
        <Words phrases={phrases.what} follow={go} />
      </p>
      {phrases.why.length > 0 && (
        <p>
          <Words phrases={phrases.why} follow={go} />
        </p>
      )}
      {phrases.where.length > 0 && (
        <p class="where">
          <Words phrases={phrases.where} follow={go} />
        </p>
      )}
      <GradientSource store={store} origin={origin} />
      {advice !== undefined && (
        <p class="help dim">
          <Prose text={advice} />
        </p>
      )}
      {example !== undefined && <Change example={example} />}
      <Tried store={store} tried={tried} />
      {(doubt !== undefined || missing !== undefined) && (
        <p class="dim" data-testid="certainty">
          <Prose text={[doubt, missing].filter(Boolean).join(" ")} />
        </p>
      )}
      <Moment store={store} origin={origin} />
    </>
  );
}

/** What was tried with the call that GUARD has kept, and a button that runs it again. */
function Tried({ store, tried }: With<Uses, { tried: string | undefined }>) {
  const { isOffered, isRunning, failure, start } = store.replay;
  return (
    <>
      {tried !== undefined && (
        <p class="help dim" data-testid="tried">
          <Prose text={tried} />
        </p>
      )}
      {isOffered.value && (
        <p>
          <Button
            class="small"
            title="Run the bad call again, as it was, in float64 and with its input in range; needs TensorFlow"
            disabled={isRunning.value}
            act={start}
            testId="replay"
            text={isRunning.value ? "Running the call again …" : "Run the call again"}
          />
        </p>
      )}
      {failure.value !== undefined && <Failure message={failure.value} />}
    </>
  );
}

/** The line that asked for the gradient: that of the op itself, which a library made. */
function GradientSource({ store, origin }: OriginProps) {
  const source = origin.gradient_source;
  if (source === undefined) return null;
  return (
    <p data-testid="gradient-source">
      The gradient was asked for in{" "}
      <Button title={source.path} act={() => follow(store, placeTarget(origin))} text={lineName(source)} />
    </p>
  );
}

/** When it was born, how often, and how many alerts came before it. */
function Moment({ store, origin }: OriginProps) {
  const before = store.lists.value?.alerts.overview.value?.firstCause ?? 0;
  const words = [momentWords(origin), before > 0 ? `${counted(before, "alert")} before it` : undefined];
  const text = words.filter(Boolean).join(" · ");
  return text === "" ? null : <p class="dim">{text}</p>;
}

/** The numbers of the inputs and of the output. */
function Evidence({ origin }: { readonly origin: Origin }) {
  const { inputs, output } = origin.evidence;
  const rows = [
    ...inputs.map(({ name, health }) => ({ name, health, what: "in" })),
    { name: "its output", health: output, what: "out" },
  ].filter(({ health }) => health !== undefined);
  if (rows.length === 0) return null;
  return (
    <details class="evidence" data-testid="evidence" open={rows.length <= 3}>
      <summary>Numbers</summary>
      <ul>
        {rows.map(({ name, health, what }, i) => (
          <li key={i}>
            <span class="dim">{what}</span>
            <TensorName name={name} />
            <Verdict summary={fromWire(health)} />
            <NumericsWords summary={fromWire(health)} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The other origins that matter, as links. */
function OtherOrigins({ store }: With<Uses>) {
  const { others } = store.origins.value;
  if (others.length === 0) return null;
  return (
    <section class="other-origins" data-testid="other-origins">
      <h3>{counted(others.length, "other origin")}</h3>
      <OriginList store={store} origins={others} />
    </section>
  );
}

/** Bad values that harm nothing, each with its reason. */
export function ExpectedOrigins({ store }: With<Uses>) {
  const { expected } = store.origins.value;
  if (expected.length === 0) return null;
  return (
    <details class="other-origins" data-testid="expected-origins">
      <summary>{expectedWords(expected.length)}</summary>
      <OriginList store={store} origins={expected} />
    </details>
  );
}

function OriginList({ store, origins }: With<Uses, { origins: readonly Origin[] }>) {
  return (
    <ul>
      {origins.map((origin) => (
        <li key={originKey(origin)}>
          <Button title="Explain this one" act={() => store.chooseOrigin(origin)} text={origin.headline} />{" "}
          <b class="bad">{kindWords(origin)}</b>
          {["swallowed", "expected"].includes(origin.category) && (
            <p class="dim">
              <Prose text={origin.explanation} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
