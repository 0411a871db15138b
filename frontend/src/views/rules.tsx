/** The alert rules: a slider for each threshold, counts that follow, and the tensors that break a rule. */
import { useState } from "preact/hooks";
import type { Finding, Rule, RuleParameter } from "../api/answers";
import { shown } from "../base/loaded";
import { counted, grouped } from "../base/text";
import { displayName, tensorName } from "../model/names";
import { processOf } from "../model/processes";
import { SLIDER_STEPS, stepOf, valueAt } from "../model/rules";
import { Explanation } from "./cause_parts";
import { Choice, plainOptions } from "./choice";
import { TensorName } from "./numbers";
import { Button, Failure, Hint } from "./panel";
import type { With } from "./props";

type Uses = "rules" | "status" | "focusFinding" | typeof Explanation;

export function Rules({ store }: With<Uses>) {
  const { isOpen, setOpen } = store.rules;
  return (
    <details
      class="rules"
      data-testid="rules"
      open={isOpen.value}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>Rules and thresholds</summary>
      {isOpen.value && <RuleList store={store} />}
    </details>
  );
}

function RuleList({ store }: With<Uses>) {
  const loaded = store.rules.rules.value;
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  const rules = shown(loaded);
  if (rules === undefined) return <Hint>Loading …</Hint>;
  return (
    <ul class="rule-list" aria-busy={loaded?.kind === "loading"}>
      {rules.map((rule) => (
        <RuleItem key={rule.alert_type} store={store} rule={rule} />
      ))}
    </ul>
  );
}

type RuleProps = With<Uses, { rule: Rule }>;

function RuleItem({ store, rule }: RuleProps) {
  const isChosen = store.rules.chosen.value === rule.alert_type;
  return (
    <li class="rule" data-testid={`rule-${rule.alert_type}`}>
      <Button
        class="rule-head wide ends"
        title={rule.description}
        aria-expanded={isChosen}
        disabled={rule.missing !== undefined}
        act={() => store.rules.choose(rule)}
      >
        <span>{rule.title}</span>
        <Count rule={rule} />
      </Button>
      {rule.missing !== undefined && <p class="dim">{rule.missing}</p>}
      {rule.missing === undefined &&
        rule.parameters.map((parameter) => (
          <Threshold key={parameter.name} store={store} rule={rule} parameter={parameter} />
        ))}
      {isChosen && <Findings store={store} />}
    </li>
  );
}

function Count({ rule }: { readonly rule: Rule }) {
  if (rule.missing !== undefined) return <span class="dim">no answer</span>;
  if (rule.num_tensors === undefined) return <span class="dim">off</span>;
  const words = `${counted(rule.num_tensors, "tensor")}, ${counted(rule.num_values ?? 0, "value")}`;
  const kind = rule.severity === "critical" ? "badge" : "badge badge-warning";
  return (
    <b class={rule.num_tensors > 0 ? kind : "dim"} title={words} data-testid={`count-${rule.alert_type}`}>
      {grouped(rule.num_tensors)}
    </b>
  );
}

interface ThresholdProps extends RuleProps {
  readonly parameter: RuleParameter;
}

function Threshold(props: ThresholdProps) {
  const { store, rule, parameter } = props;
  const value = store.rules.thresholds.value.get(nameOf(props)) ?? String(parameter.default);
  const move = (next: string) => store.rules.move(rule, parameter, next);
  const Field = parameter.scale === "choice" ? ChoiceField : NumberField;
  return <Field {...props} value={value} move={move} />;
}

function nameOf({ rule, parameter }: ThresholdProps): string {
  return `${rule.alert_type}.${parameter.name}`;
}

interface FieldProps extends ThresholdProps {
  readonly value: string;
  readonly move: (value: string) => void;
}

function ChoiceField({ parameter, value, move }: FieldProps) {
  return (
    <label class="threshold level">
      {parameter.name}
      <Choice options={plainOptions(parameter.choices)} value={value} choose={move} />
    </label>
  );
}

/** A slider, and a field for the exact number. */
function NumberField(props: FieldProps) {
  const { rule, parameter, value, move } = props;
  const { low, high } = parameter;
  const type = (typed: number) => {
    if (typed >= low && typed <= high) move(String(parameter.whole ? Math.round(typed) : typed));
  };
  return (
    <div class="threshold level">
      <span>{parameter.name}</span>
      <input
        type="range"
        min={0}
        max={SLIDER_STEPS}
        value={stepOf(parameter, Number(value))}
        aria-label={`${rule.title}: ${parameter.name}`}
        aria-valuetext={`${value} ${parameter.unit}`}
        data-testid={`slider-${nameOf(props)}`}
        onInput={(event) => move(String(valueAt(parameter, Number(event.currentTarget.value))))}
      />
      <input
        type="number"
        min={low}
        max={high}
        step="any"
        value={fieldText(value)}
        title={parameter.unit}
        aria-label={`${rule.title}: ${parameter.name}, as a number`}
        data-testid={`number-${nameOf(props)}`}
        onChange={(event) => type(event.currentTarget.valueAsNumber)}
      />
    </div>
  );
}

/** A number as a narrow field shows it: "1e10" for 10000000000. */
function fieldText(value: string): string {
  return Math.abs(Number(value)) < 1e6 ? value : Number(value).toExponential().replace("+", "");
}

function Findings({ store }: With<Uses>) {
  const loaded = store.rules.findings.value;
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  const found = shown(loaded);
  if (found === undefined) return <Hint>Loading …</Hint>;
  const left = found.num_alerts - found.alerts.length;
  return (
    <ul class="findings" data-testid="findings">
      {found.alerts.map((finding, i) => (
        <FindingItem key={i} store={store} finding={finding} index={i} />
      ))}
      {left > 0 && <li class="dim">{grouped(left)} more; tbdbg alerts lists all.</li>}
    </ul>
  );
}

function FindingItem({ store, finding, index }: With<Uses, { finding: Finding; index: number }>) {
  const [isAsking, setAsking] = useState(false);
  const isExplained = store.rules.explained.value === index;
  const { source, allowed, remark } = finding;
  const process = processOf(store.status.value?.hosts ?? [], finding.process);
  const line = source && `${source.path.replaceAll("\\", "/").split("/").pop()}:${source.line}`;
  return (
    <li class={allowed === undefined ? "finding wrap" : "finding wrap dim"}>
      <Tensors store={store} finding={finding} />
      <span class={finding.severity === "critical" ? "bad" : "warning"}>{finding.measured}</span>
      <span class="dim">
        {[line, process, finding.count > 1 ? `${grouped(finding.count)} times` : undefined]
          .filter(Boolean)
          .join(" · ")}
      </span>
      <Button aria-expanded={isExplained} act={() => store.rules.explain(index)} text="Why" />
      {allowed !== undefined ? (
        <span>meant: {allowed}</span>
      ) : (
        <Button act={() => setAsking(!isAsking)} text="Meant so …" />
      )}
      {remark !== undefined && <span class="dim">{remark}</span>}
      {isExplained && <Why store={store} />}
      {isAsking && allowed === undefined && <Reason store={store} finding={finding} />}
    </li>
  );
}

/** The tensor of an alert, what it is for, and how many others it is about. */
function Tensors({ store, finding }: With<Uses, { finding: Finding }>) {
  const { op_name: name, op_type: type, num_tensors: size } = finding;
  const whose = finding.variable ?? finding.gradient_of.join(", ");
  return (
    <>
      <Button act={() => store.focusFinding(finding)}>
        <TensorName name={name === undefined ? displayName(type) : tensorName(name, finding.output_slot)} />
      </Button>
      {whose !== "" && <span>for {whose}</span>}
      {size > 1 && <span title={finding.tensors.join("\n")}>and {grouped(size - 1)} more</span>}
    </>
  );
}

/** Why the explained alert breaks its rule, and what helps. */
function Why({ store }: With<Uses>) {
  const loaded = store.rules.explanation.value;
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (loaded?.kind !== "ready") return <Hint>Loading …</Hint>;
  return (
    <div class="finding-why" data-testid="finding-why">
      {loaded.value !== undefined && <Explanation store={store} diagnosis={loaded.value} />}
    </div>
  );
}

/** Why an alert is meant; it is kept in a file beside the run. */
function Reason({ store, finding }: With<Uses, { finding: Finding }>) {
  const [reason, setReason] = useState("");
  const failure = store.rules.failure.value;
  return (
    <form
      class="reason whole"
      onSubmit={(event) => {
        event.preventDefault();
        void store.rules.allow(finding, reason);
      }}
    >
      <input
        type="text"
        value={reason}
        placeholder="Why is it meant?"
        aria-label="Why it is meant"
        maxLength={1000}
        required
        onInput={(event) => setReason(event.currentTarget.value)}
      />
      <button type="submit">Keep in tbdbg_allow.toml</button>
      {failure !== undefined && <Failure message={failure} />}
    </form>
  );
}
