/** The op in focus beside the picture of its graph: its outputs, attributes, and the ops that it waits for. */
import type { OpInfo } from "../../api/answers";
import { shown } from "../../base/loaded";
import { displayName } from "../../model/names";
import type { Neighbourhood } from "../../model/neighbourhood";
import { NumericsWords, ShapeWords, TensorName, Verdict } from "../numbers";
import { Button } from "../panel";
import type { With } from "../props";

type Uses = "focusGraph" | "follow" | "neighbourhood" | "opInfo" | "subject";

/** Names of ops, and outputs, that are listed. */
const MOST = 40;

export function Details({ store }: With<Uses>) {
  const info = shown(store.opInfo.value);
  const op = shown(store.neighbourhood.value);
  if (info === undefined || op === undefined || store.subject.value !== "op") return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
    <aside class="graph-details scroll" aria-label="The op in focus" tabIndex={0} data-testid="graph-details">
      <h3>
        <TensorName name={info.op_name} />
      </h3>
      <p class="line wrap">
        <span class="chip">{displayName(info.op_type)}</span>
        {op.role !== undefined && <span class="tensor-role">{op.role}</span>}
      </p>
      {info.device_name !== undefined && <p class="dim anywhere">{info.device_name}</p>}
      <Runs store={store} op={op} />
      <Outputs op={op} />
      <Names store={store} info={info} title="waits for" names={info.control_inputs} />
      <Names store={store} info={info} title="is waited for by" names={info.control_consumers} />
      <Attributes info={info} />
    </aside>
  );
}

function Runs({ store, op }: With<"focusGraph", { op: Neighbourhood }>) {
  return op.runs.map(({ graph, name }) => (
    <p key={graph}>
      runs{" "}
      <Button
        title={`Go to what ${name} computed last here`}
        testId="graph-details-runs"
        act={() => void store.focusGraph(graph)}
        text={displayName(name)}
      />
    </p>
  ));
}

function Outputs({ op }: { readonly op: Neighbourhood }) {
  return (
    <ul class="pile">
      {op.outputs.slice(0, MOST).map((summary, slot) => (
        <li key={slot}>
          <span class="line slim">
            <span class="dim num">:{slot}</span>
            <ShapeWords summary={summary} />
          </span>
          <Verdict summary={summary} />
          <NumericsWords summary={summary} />
        </li>
      ))}
      <More n={op.outputs.length} what="outputs" />
    </ul>
  );
}

function More({ n, what }: { readonly n: number; readonly what: string }) {
  return n > MOST ? (
    <li class="dim">
      and {n - MOST} more {what}
    </li>
  ) : null;
}

/** Ops that run before or after it without a tensor. */
function Names({ store, info, title, names }: With<"follow", NamesProps>) {
  if (names.length === 0) return null;
  const target = (opName: string) =>
    ({ kind: "op", graph: info.graph_id, opName, graphExecution: undefined }) as const;
  return (
    <section>
      <h4>{title}</h4>
      <ul>
        {names.slice(0, MOST).map((name) => (
          <li key={name} class="ellipsis">
            <Button
              testId="graph-details-waiting"
              title={`Go to ${name}`}
              act={() => store.follow(target(name))}
              text={name}
            />
          </li>
        ))}
        <More n={names.length} what="ops" />
      </ul>
    </section>
  );
}

interface NamesProps {
  readonly info: OpInfo;
  readonly title: string;
  readonly names: readonly string[];
}

function Attributes({ info: { attributes } }: { readonly info: OpInfo }) {
  if (attributes === undefined) return <p class="dim">Its attributes are not on record.</p>;
  return (
    <section>
      <h4>attributes</h4>
      {attributes.length === 0 && <p class="dim">none</p>}
      <dl class="graph-attributes" data-testid="graph-attributes">
        {attributes.map(({ name, value }) => (
          <div key={name} class="line slim">
            <dt class="dim fixed">{name}</dt>
            <dd class="mono anywhere slim">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
