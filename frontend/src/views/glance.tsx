/**
 * The run at a glance, where no value is bad: what was checked and found, gradients by step, what is largest and
 * slowest, and what was recorded. Each part leads to where more of it is.
 */
import type { ComponentChildren } from "preact";
import type { Extremes, Finding, Rule } from "../api/answers";
import { type Loaded, shown } from "../base/loaded";
import { counted, duration, grouped, shortNumber } from "../base/text";
import { gapsOf } from "../model/gaps";
import { checksOf, recordedFacts, timesWords } from "../model/glance";
import { displayName, tensorName } from "../model/names";
import { lineName } from "../model/origin";
import { processOf } from "../model/processes";
import { roleOf, roleWords } from "../model/role";
import { markOf } from "../model/verdict";
import { GradientsPanel } from "./curves/gradients";
import { GapList } from "./gap_list";
import { TensorName } from "./numbers";
import { Button, Failure, Hint } from "./panel";
import type { With } from "./props";

/** Alerts and names that are listed; their sections have all. */
const FEW = 6;

type Uses =
  | "dock.show"
  | "glance.extremes"
  | "glance.findings"
  | "glance.rules"
  | "status"
  | "steps.ofFocus"
  | "verdict"
  | "focusExecution"
  | "focusFinding"
  | "focusGraphExecution"
  | typeof GapList
  | typeof GradientsPanel;

export function GlancePanel({ store }: With<Uses>) {
  const verdict = shown(store.verdict.value);
  return (
    <div class="glance scroll grow" data-testid="glance">
      {verdict !== undefined && (
        <h2 class="glance-verdict" data-testid="glance-verdict">
          {markOf(verdict)}
          {verdict.headline}
        </h2>
      )}
      <Checked store={store} />
      <Recorded store={store} />
      <Card title="Gradients, weights and updates by step" name="map">
        <GradientsPanel store={store} />
      </Card>
      <Largest store={store} />
    </div>
  );
}

interface CardProps {
  readonly title: string;
  readonly name: string;
  readonly children: ComponentChildren;
}

function Card({ title, name, children }: CardProps) {
  return (
    <section class={`glance-card glance-${name}`} aria-label={title} data-testid={`glance-${name}`}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** What an answer shows, once it is there. */
function answered<T>(loaded: Loaded<T> | undefined, draw: (answer: T) => ComponentChildren) {
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  const answer = shown(loaded);
  return answer === undefined ? <Hint>Loading …</Hint> : draw(answer);
}

/** The alert rules: what they found, which of them found nothing, and which could not be asked. */
function Checked({ store }: With<Uses>) {
  return (
    <Card title="What was checked" name="checked">
      {answered(store.glance.rules.value, (rules) => {
        const { broken, kept, unasked } = checksOf(rules);
        return (
          <>
            {broken.length > 0 && <Found store={store} rules={rules} />}
            {kept.length > 0 && (
              <p>
                <span class="good">✓</span> Nothing found by <Titles rules={kept} />.
              </p>
            )}
            {[...unasked].map(([why, rules]) => (
              <p key={why} class="dim">
                – Not checked: <Titles rules={rules} />. {why}
              </p>
            ))}
          </>
        );
      })}
    </Card>
  );
}

function Titles({ rules }: { readonly rules: readonly Rule[] }) {
  return (
    <>
      {rules.map(({ alert_type: name, title, description }, i) => (
        <span key={name} title={description}>
          {i > 0 && ", "}
          {title}
        </span>
      ))}
    </>
  );
}

/** The most urgent alerts. */
function Found({ store, rules }: With<Uses, { rules: readonly Rule[] }>) {
  const titleOf = (name: string) => rules.find(({ alert_type: own }) => own === name)?.title ?? name;
  return answered(store.glance.findings.value, ({ alerts, num_alerts: total }) => (
    <ol class="glance-found">
      {alerts.slice(0, FEW).map((finding) => (
        <FoundItem
          key={`${finding.alert_type} ${finding.op_name} ${finding.output_slot}`}
          store={store}
          finding={finding}
          title={titleOf(finding.alert_type)}
        />
      ))}
      {total > FEW && (
        <li class="dim">{counted(total - FEW, "more alert")}: see Alerts by layer, line, variable.</li>
      )}
    </ol>
  ));
}

function FoundItem({ store, finding, title }: With<Uses, { finding: Finding; title: string }>) {
  const { op_name: op, op_type: type, measured, severity, num_tensors: tensors, source, step } = finding;
  const name = op === undefined ? displayName(type) : tensorName(op, finding.output_slot);
  // A layer or a variable says more than the name of an op in it.
  const role = roleWords(op ?? "", roleOf(finding, finding.gradient_of));
  const place = source === undefined ? "" : lineName(source);
  const process = processOf(store.status.value?.hosts ?? [], finding.process);
  const more = tensors > 1 ? `and ${counted(tensors - 1, "more tensor")}` : "";
  return (
    <li data-testid="glance-finding">
      <span class="line ends">
        <span class={severity === "critical" ? "bad" : severity === "low" ? "" : "warning"}>
          {title}: {measured}
        </span>
        <span class="dim">{severity}</span>
      </span>
      <span class="line glance-where">
        <Button
          class="link slim ellipsis"
          title={`Show the first value of ${name}`}
          act={() => store.focusFinding(finding)}
        >
          {role ?? <TensorName name={name} />}
        </Button>
        <span class="dim nowrap">
          {[more, place, `from step ${grouped(step)}`, process].filter(Boolean).join(" · ")}
        </span>
      </span>
    </li>
  );
}

/** The largest tensors and magnitudes, and the slowest steps. */
function Largest({ store }: With<Uses>) {
  return (
    <Card title="Largest and slowest" name="largest">
      {answered(store.glance.extremes.value, (found) => (
        <div class="wrap glance-lists">
          <Tensors
            store={store}
            title="Largest magnitude"
            tensors={found.largest_values}
            words={shortNumber}
            none="This mode does not measure the smallest and the largest element."
          />
          <Tensors
            store={store}
            title="Most elements"
            tensors={found.largest_tensors}
            words={grouped}
            none="The number of elements is not on record."
          />
          <Slowest found={found} />
        </div>
      ))}
    </Card>
  );
}

interface TensorsProps extends With<"focusExecution" | "focusGraphExecution"> {
  readonly title: string;
  readonly tensors: Extremes["largest_values"];
  readonly words: (number: number) => string;
  /** Why there are none. */
  readonly none: string;
}

function Tensors({ store, title, tensors, words, none }: TensorsProps) {
  return (
    <table class="glance-table">
      <caption>{title}</caption>
      <tbody>
        {tensors.length === 0 && (
          <tr>
            <td class="dim">{none}</td>
          </tr>
        )}
        {tensors.map(({ name, function: within, layer, line, number, graph_execution, execution }) => (
          <tr key={`${graph_execution} ${execution} ${name}`}>
            <td class="num">{words(number)}</td>
            <td>
              <Button
                title={[name, within, layer, line].filter(Boolean).join(" · ")}
                act={() => {
                  if (graph_execution !== undefined) void store.focusGraphExecution(graph_execution);
                  else if (execution !== undefined) store.focusExecution(execution);
                }}
              >
                <TensorName name={name} />
              </Button>{" "}
              <span class="dim">{line ?? within ?? ""}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Slowest({ found }: { readonly found: Extremes }) {
  const { slowest_steps: steps, median_seconds: median } = found;
  const hosts = new Set(steps.map(({ host }) => host));
  return (
    <table class="glance-table" title="From the end of the step before to its own, with what recording costs">
      <caption>Slowest steps{median === undefined ? "" : `, of ${duration(median)} (median)`}</caption>
      <tbody>
        {steps.length === 0 && (
          <tr>
            <td class="dim">There are not two steps in a row.</td>
          </tr>
        )}
        {steps.map(({ host, step, seconds }) => (
          <tr key={`${host} ${step}`}>
            <td class="num">{duration(seconds)}</td>
            <td>
              step {grouped(step)}
              {hosts.size > 1 && ` on ${host}`} <span class="dim">{timesWords(seconds, median)}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Recorded({ store }: With<Uses>) {
  const status = store.status.value;
  if (status === undefined) return null;
  const gaps = gapsOf(status);
  return (
    <Card title="What was recorded" name="recorded">
      <dl class="glance-facts">
        {recordedFacts(status, store.steps.ofFocus.value).map(([name, value]) => (
          <div key={name}>
            <dt class="dim">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {gaps.length > 0 && (
        <>
          <p>
            <b>And what was not:</b>
          </p>
          <GapList store={store} gaps={gaps} />
        </>
      )}
      <p class="glance-next">
        Go on with{" "}
        <Button
          act={() => store.dock.show(undefined)}
          text="all that was computed"
          testId="glance-recording"
        />{" "}
        or <Button act={() => store.dock.show("gradients")} text="gradients in full" />.
      </p>
    </Card>
  );
}
