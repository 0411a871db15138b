/** A row of the tensors of the current call. */
import type { LiveTensor } from "../../api/live";
import { liveTensorNumber } from "../../base/ids";
import { basename, significant } from "../../base/text";
import { badWords, isBad, type Summary, summaryWords } from "../../model/health";
import { nameOf, summaryOf } from "../../model/live/tensor_rows";
import { displayName, shortDevice } from "../../model/names";
import { isSameRef } from "../../model/values/value_ref";
import { HealthBar, TensorName } from "../numbers";
import { Button } from "../panel";
import type { With } from "../props";
import type { RowAttributes } from "../virtual_list";

const HEADS = [
  ["tensor", ""],
  ["count", "num"],
  ["dtype", ""],
  ["shape", ""],
  ["value", ""],
  ["health", ""],
  ["line", ""],
] as const;

export function TensorHeads() {
  return (
    <div class="row lp-row level nowrap" role="row">
      {HEADS.map(([title, kind]) => (
        <span key={title} role="columnheader" class={kind}>
          {title}
        </span>
      ))}
      <span role="columnheader">
        <span class="unseen">actions</span>
      </span>
    </div>
  );
}

interface RowProps extends With<"livePanel" | typeof Actions | typeof Value> {
  readonly tensor: LiveTensor;
  readonly attributes: RowAttributes;
  /** Whether the program is paused at it. */
  readonly isCurrent: boolean;
  readonly isChosen: boolean;
}

export function TensorRow({ store, tensor, attributes, isCurrent, isChosen }: RowProps) {
  const summary = summaryOf(tensor);
  const kind = isCurrent ? "lp-current" : isBad(summary) ? "row-bad" : "";
  return (
    <div
      {...attributes}
      role="row"
      class={`row lp-row level nowrap ${kind}`}
      aria-selected={isChosen}
      aria-current={isCurrent ? "step" : undefined}
      data-number={tensor.number}
      data-testid="live-tensor"
      onClick={() => store.livePanel.chooseTensor(tensor)}
    >
      <Name tensor={tensor} isCurrent={isCurrent} />
      <span role="gridcell" class="num dim" title="How often it was computed in this call">
        {tensor.occurrence}
      </span>
      <span role="gridcell" class="ellipsis">
        {summary.dtype}
      </span>
      <span role="gridcell" class="ellipsis" title={summary.shape}>
        {summary.shape}
      </span>
      <Value store={store} tensor={tensor} />
      <Health tensor={tensor} summary={summary} />
      <Line tensor={tensor} />
      <Actions store={store} tensor={tensor} />
    </div>
  );
}

function Name({ tensor, isCurrent }: { readonly tensor: LiveTensor; readonly isCurrent: boolean }) {
  const place = [displayName(tensor.function), tensor.layer].filter(Boolean).join(" · ");
  return (
    <span role="gridcell" class="lp-name line" title={[tensor.op_type, place].filter(Boolean).join(" in ")}>
      {isCurrent && (
        <>
          <i class="lp-arrow fixed" aria-hidden="true" />
          <span class="unseen">the program is paused here: </span>
        </>
      )}
      <TensorName name={nameOf(tensor)} />
      {tensor.was_changed && <span class="tag">changed</span>}
      <span class="dim ellipsis lp-place slim">{place}</span>
    </span>
  );
}

/** The value itself when it is small, else the button that shows it. */
function Value({ store, tensor }: With<"livePanel" | "value", { tensor: LiveTensor }>) {
  if (!tensor.has_value)
    return (
      <span role="gridcell" class="dim ellipsis" title={tensor.no_value}>
        {tensor.text || "not held"}
      </span>
    );
  const program = store.livePanel.rowsOf.value;
  const open = store.value.value;
  const ref = program && ({ kind: "live", program, tensor: liveTensorNumber(tensor.number) } as const);
  return (
    <span role="gridcell" class="lp-value">
      <Button
        class={tensor.text === "" ? "small" : "link ellipsis lp-inline mono"}
        tabIndex={-1}
        title={`Show the elements of ${nameOf(tensor)} (v)`}
        aria-label={`Show the elements of ${nameOf(tensor)}${tensor.text && `: ${tensor.text}`}`}
        aria-pressed={isSameRef(open, ref)}
        testId="live-view"
        act={(event) => {
          event.stopPropagation();
          store.livePanel.showLiveValue(tensor.number);
        }}
        text={tensor.text || "view"}
      />
    </span>
  );
}

interface HealthProps {
  readonly tensor: LiveTensor;
  readonly summary: Summary;
}

function Health({ tensor, summary }: HealthProps) {
  return (
    <span
      role="gridcell"
      class="lp-health line"
      title={healthWords(tensor, summary)}
      data-testid="live-health"
    >
      <HealthBar summary={summary} />
      {isBad(summary) && <span class="bad ellipsis">{badWords(summary)}</span>}
      <span class="unseen">{healthWords(tensor, summary)}</span>
    </span>
  );
}

/** Device, dtype, shape, counts, min, max, mean and standard deviation. */
function healthWords(tensor: LiveTensor, summary: Summary): string {
  const variance = summary.numerics?.variance;
  const { numerics, ...rest } = summary;
  const words = summaryWords({ ...rest, numerics: { ...numerics, variance: undefined } });
  const std = variance === undefined ? undefined : `stddev ${significant(Math.sqrt(variance))}`;
  return [shortDevice(tensor.device), words, std].filter(Boolean).join(" · ");
}

function Line({ tensor: { path, line } }: { readonly tensor: LiveTensor }) {
  if (path === "" || line <= 0) return <span role="gridcell" />;
  return (
    <span role="gridcell" class="dim ellipsis ellipsis-start" title={`${path}:${line}`}>
      <bdi>
        {basename(path)}:{line}
      </bdi>
    </span>
  );
}

function Actions({ store, tensor }: With<"live" | "livePanel", { tensor: LiveTensor }>) {
  const panel = store.livePanel;
  const name = nameOf(tensor);
  const mayGoOn = store.live.state.value?.phase === "paused" || store.live.state.value?.phase === "waiting";
  return (
    <span role="gridcell" class="lp-actions">
      <RowButton
        label={`Breakpoint at ${name}`}
        title="Set or remove a breakpoint (b)"
        text={panel.hasBreakpoint(tensor) ? "●" : "○"}
        isOn={panel.hasBreakpoint(tensor)}
        act={() => void panel.toggleTensor(tensor)}
        name="live-break"
      />
      <RowButton
        label={`Continue to ${name}`}
        title="Continue until it is computed again (c)"
        text="→"
        isOff={!mayGoOn}
        act={() => void panel.continueTo(tensor)}
        name="live-continue-to"
      />
      <RowButton
        label={`Watch ${name}`}
        title="Draw its numbers as a curve while the program runs (w)"
        text="∿"
        isOn={panel.isWatched(tensor)}
        act={() => void panel.toggleWatch(tensor)}
        name="live-watch"
      />
    </span>
  );
}

interface ButtonProps {
  readonly label: string;
  readonly title: string;
  readonly text: string;
  readonly isOn?: boolean;
  readonly isOff?: boolean;
  readonly act: () => void;
  readonly name: string;
}

function RowButton({ label, title, text, isOn, isOff, act, name }: ButtonProps) {
  return (
    <Button
      class={`lp-action ${name}`}
      tabIndex={-1}
      aria-label={label}
      title={title}
      aria-pressed={isOn}
      disabled={isOff}
      testId={name}
      act={(event) => {
        event.stopPropagation();
        act();
      }}
      text={text}
    />
  );
}
