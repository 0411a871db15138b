/** The section of alerts: where bad values come from, the alert rules and the list. */
import type { Alert } from "../api/answers";
import { type AlertIndex, alertIndex } from "../base/ids";
import { shown } from "../base/loaded";
import { grouped } from "../base/text";
import { gapsOf, gapsWords } from "../model/gaps";
import type { Summary } from "../model/health";
import { displayName, isFunctionName, tensorName } from "../model/names";
import { processOf } from "../model/processes";
import { roleOf, roleWords } from "../model/role";
import { firstCauseLabel } from "../model/verdict";
import { AlertGroups } from "./alert_groups";
import { Elements, Explanation } from "./cause_parts";
import { GapList } from "./gap_list";
import { ALERT_ROW } from "./geometry";
import { HealthBar, Prose, TensorName } from "./numbers";
import { ExpectedOrigins, OriginCard } from "./origin_card";
import { Button, Failure, Hint, IconButton, Panel } from "./panel";
import type { Takes, With } from "./props";
import { Rules } from "./rules";
import { type RowAttributes, VirtualList } from "./virtual_list";

type Uses = Takes<
  "alert" | "alertList" | "alertType" | "alertTypes" | "lists" | "status" | "verdict",
  "firstBad" | "firstBadValue" | "originList" | "origins",
  "focusAlert" | "nextAlert" | "previousAlert" | "setAlertType" | "steps.ofFocus",
  typeof AlertGroups | typeof GapList | typeof OriginCard | typeof Rules
>;

export function Alerts({ store }: With<Uses>) {
  const total = store.lists.value?.alerts.pages.total.value ?? 0;
  return (
    <Panel
      title="Alerts"
      className="alerts"
      note={total > 0 ? <b class="badge">{grouped(total)}</b> : undefined}
      tools={total > 0 && <Steps store={store} />}
    >
      <VerdictBox store={store} isAlone={total === 0} />
      {total > 0 && <Found store={store} />}
      <AlertGroups store={store} />
      <Rules store={store} />
    </Panel>
  );
}

function Steps({ store }: With<Uses>) {
  const at = store.alert.value;
  const total = store.alertList.value?.pages.total.value ?? 0;
  return (
    <div class="tools">
      <span class="position">{at === undefined ? "" : `${grouped(at + 1)} of ${grouped(total)}`}</span>
      <IconButton
        label="Previous alert"
        title="Previous alert (p)"
        text="↑"
        off={at === 0}
        act={store.previousAlert}
      />
      <IconButton
        label="Next alert"
        title="Next alert (n)"
        text="↓"
        off={at === total - 1}
        act={store.nextAlert}
      />
    </div>
  );
}

interface VerdictBoxProps extends With<Uses> {
  /** Whether no alert is listed below it. */
  readonly isAlone: boolean;
}

/** What is to be said of the run; the origin or the first cause says it of a run with a bad value. */
function VerdictBox({ store, isAlone }: VerdictBoxProps) {
  const loaded = store.verdict.value;
  const verdict = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (verdict === undefined) return isAlone ? <Hint>Asking the alert rules …</Hint> : null;
  if (verdict.kind === "bad" && !isAlone) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the keyboard
    <div class="verdict-box scroll" role="status" tabIndex={0} data-testid="verdict">
      <b class={verdict.is_good ? "good" : verdict.kind === "rules" ? "warning" : ""}>
        {verdict.is_good && "✓ "}
        {verdict.headline}
      </b>
      {[...verdict.sentences, ...(isAlone ? verdict.doubts : [])].map((sentence) => (
        <p key={sentence}>
          <Prose text={sentence} />
        </p>
      ))}
      {isAlone && <NotLookedAt store={store} />}
    </div>
  );
}

function NotLookedAt({ store }: With<Uses>) {
  const gaps = store.status.value === undefined ? [] : gapsOf(store.status.value);
  if (gaps.length === 0) return null;
  return (
    <>
      <p>
        <b>Not recorded, so not looked at:</b>
      </p>
      <GapList store={store} gaps={gaps} />
    </>
  );
}

/** What is not recorded: it may hold more alerts, and earlier ones. */
function AlsoMissing({ store }: With<Uses>) {
  const gaps = store.status.value === undefined ? [] : gapsOf(store.status.value);
  const words = gapsWords(gaps);
  if (words === undefined) return null;
  return (
    <details class="also-missing" data-testid="also-missing">
      <summary>⚠ The recording is not all of the program: {words}</summary>
      <GapList store={store} gaps={gaps} />
    </details>
  );
}

function Found({ store }: With<Uses>) {
  const pages = store.alertList.value?.pages;
  if (pages === undefined) return null;
  void pages.edition.value;
  const failure = pages.failure.value;
  return (
    <>
      <Cause store={store} />
      <AlertTypes store={store} />
      <AlsoMissing store={store} />
      {failure !== undefined && <Failure message={failure} />}
      <VirtualList
        key={store.alertType.value}
        id="alert"
        label="Alerts in the order of time"
        rows={pages.total.value}
        rowHeight={ALERT_ROW}
        headerHeight={0}
        focusRow={store.alert.value}
        revealRow={store.alert.value}
        revealKey=""
        onVisible={(begin, end) => pages.want(begin, Math.max(end, 1))}
        onStep={(row) => void store.focusAlert(alertIndex(row))}
        render={(row, attributes) => {
          const page = pages.at(row);
          return (
            <AlertRow
              key={row}
              store={store}
              index={alertIndex(row)}
              alert={page?.alerts[row - page.begin]}
              attributes={attributes}
            />
          );
        }}
      />
    </>
  );
}

/** A button for each rule with alerts; a pressed one hides the alerts of the other rules. */
function AlertTypes({ store }: With<Uses>) {
  const chosen = store.alertType.value;
  return (
    <div class="fixed ruled" role="group" aria-label="Alert rules">
      {store.alertTypes.value.map(({ id, title, description, isError, count }) => (
        <Button
          key={id}
          class="alert-type wide bold level ends"
          title={description}
          aria-pressed={id === chosen}
          testId={`alert-type-${id}`}
          act={() => void store.setAlertType(id === chosen ? undefined : id)}
        >
          <span>{title}</span>
          <b class={isError ? "badge" : "badge badge-warning"}>{grouped(count)}</b>
        </Button>
      ))}
    </div>
  );
}

type AlertRowProps = With<Uses, { index: AlertIndex; alert: Alert | undefined; attributes: RowAttributes }>;

function AlertRow({ store, index, alert, attributes }: AlertRowProps) {
  const selected = store.alert.value === index;
  if (alert === undefined)
    return (
      <div {...attributes} role="row" class="row alert-row pile" aria-selected={selected}>
        <span role="gridcell" class="dim">
          Loading …
        </span>
      </div>
    );
  const summary = alertSummary(alert);
  const isError = store.alertTypes.value.find(({ id }) => id === alert.alert_type)?.isError ?? true;
  const name =
    alert.op_name === undefined ? displayName(alert.op_type) : tensorName(alert.op_name, alert.output_slot);
  const process = processOf(store.status.value?.hosts ?? [], alert.process);
  const hasSteps = (store.steps.ofFocus.value?.num_steps ?? 0) > 1;
  const step = hasSteps ? `step ${grouped(alert.step)}` : undefined;
  const details = [alertDetails(alert), step, process].filter(Boolean).join(" · ");
  return (
    <div
      {...attributes}
      role="row"
      class="row alert-row pile"
      aria-selected={selected}
      onClick={() => void store.focusAlert(index)}
    >
      <span role="gridcell" class="alert-what line ends nowrap">
        <TensorName name={name} />
        <span class={isError ? "bad" : "warning"}>{alert.measured}</span>
      </span>
      <span role="gridcell" class="alert-where line ends nowrap dim">
        <span class="ellipsis" title={details}>
          {details}
        </span>
        <HealthBar summary={summary} />
      </span>
    </div>
  );
}

function alertDetails(alert: Alert): string {
  if (alert.graph_execution_trace_index === undefined) {
    const kind = isFunctionName(alert.op_type) ? "output of the call" : "eager op";
    return `${kind} · #${alert.execution_index ?? "?"}`;
  }
  const func = alert.graph_name === undefined ? "" : ` in ${displayName(alert.graph_name)}`;
  const role = roleWords(alert.op_name ?? "", roleOf(alert, alert.gradient_of));
  const details = `${alert.op_type}${func} · #${alert.graph_execution_trace_index}`;
  return role === undefined ? details : `${role} · ${details}`;
}

export function Cause({ store }: With<Uses>) {
  const loaded = store.originList.value;
  const { shown: origin, expected } = store.origins.value;
  if (origin !== undefined) return <OriginCard store={store} origin={origin} />;
  if (loaded === undefined || (loaded.kind === "loading" && loaded.stale === undefined))
    return loaded === undefined ? null : <Hint>Looking for the cause …</Hint>;
  return (
    <>
      {loaded.kind === "failed" && <Failure message={loaded.message} />}
      {expected.length > 0 && <AllExpected store={store} />}
      <FirstCause store={store} isBadExplained={expected.length > 0} />
    </>
  );
}

/** Bad values that harm nothing, and no others. */
function AllExpected({ store }: With<Uses>) {
  return (
    <div class="all-expected" data-testid="all-expected">
      <ExpectedOrigins store={store} />
    </div>
  );
}

interface FirstCauseProps extends With<Uses> {
  /** Whether bad values are explained already, so that only an alert of another kind is left. */
  readonly isBadExplained: boolean;
}

/** The diagnosis of the first cause: what it is, why it is bad, and which line of the program computes it. */
function FirstCause({ store, isBadExplained }: FirstCauseProps) {
  const loaded = store.firstBad.value;
  const diagnosis = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (diagnosis === undefined) return loaded?.kind === "ready" ? null : <Hint>Looking for the cause …</Hint>;
  if (isBadExplained && diagnosis.alert?.bad !== false) return null;
  return (
    <div class="first-bad" data-testid="first-bad">
      <Explanation store={store} diagnosis={diagnosis} label={firstCauseLabel(diagnosis)} />
      <Elements store={store} loaded={store.firstBadValue.value} element={diagnosis.element} />
    </div>
  );
}

export function alertSummary({ size, num_neg_inf, num_pos_inf, num_nan, bad }: Alert): Summary {
  return { size, counts: { neg_inf: num_neg_inf, pos_inf: num_pos_inf, nan: num_nan }, bad };
}
