/** What is wrong, the first thing first, in words and as a list. */
import type { Alert } from "../api/answers";
import { type AlertIndex, alertIndex } from "../base/ids";
import { shown } from "../base/loaded";
import { basename, counted, grouped } from "../base/text";
import { belongingOf, belongingWords } from "../model/belonging";
import { gapsOf, gapsWords } from "../model/gaps";
import { badWords } from "../model/health";
import { displayName, isFunctionName, tensorName } from "../model/names";
import { forwardTarget } from "../model/neighbourhood";
import { alertSummary } from "../model/suspect";
import { looksForBad, verdictOf } from "../model/verdict";
import type { FirstBad } from "../store/derived";
import type { Store } from "../store/store";
import { GapList } from "./gap_list";
import { HealthBar, TensorName, Words } from "./numbers";
import { Failure, Hint, Panel } from "./panel";
import { type RowPlace, VirtualList } from "./virtual_list";

const TYPES: Readonly<Record<string, string>> = { InfNanAlert: "NaN/∞" };
const ROW = 40;

export function Alerts({ store }: { readonly store: Store }) {
  const pages = store.lists.value?.alerts;
  const total = pages?.total.value ?? 0;
  return (
    <Panel
      title="Alerts"
      className="alerts"
      note={total > 0 ? <b class="badge">{grouped(total)}</b> : undefined}
      tools={total > 0 && <Steps store={store} total={total} />}
    >
      {total === 0 ? <AllWell store={store} /> : <Found store={store} />}
    </Panel>
  );
}

function Steps({ store, total }: { readonly store: Store; readonly total: number }) {
  const at = store.alert.value;
  return (
    <div class="tools">
      <span class="position">{at === undefined ? "" : `${grouped(at + 1)} of ${grouped(total)}`}</span>
      <button
        type="button"
        class="icon"
        title="Previous alert (p)"
        aria-label="Previous alert"
        disabled={at === 0}
        onClick={store.previousAlert}
      >
        ↑
      </button>
      <button
        type="button"
        class="icon"
        title="Next alert (n)"
        aria-label="Next alert"
        disabled={at === total - 1}
        onClick={store.nextAlert}
      >
        ↓
      </button>
    </div>
  );
}

/** No alert: what that says, and what it does not speak for. */
function AllWell({ store }: { readonly store: Store }) {
  const status = store.status.value;
  if (status === undefined) return <Hint>Loading …</Hint>;
  const { headline, sentence, isWhole, gaps, doubts } = verdictOf(status);
  return (
    <div class="all-well" role="status" data-testid="all-well">
      {looksForBad(status) ? (
        <>
          <b class={isWhole ? "good" : ""}>
            {isWhole && "✓ "}
            {headline}
          </b>
          <p>{sentence}</p>
        </>
      ) : (
        <p>
          This run was recorded in mode {status.tensor_debug_mode}, which does not look for NaN and ∞. Record
          with <code>tensor_debug_mode="FULL_HEALTH"</code> to be told.
        </p>
      )}
      {gaps.length > 0 && (
        <>
          <p>
            <b>Not recorded, so not looked at:</b>
          </p>
          <GapList store={store} gaps={gaps} />
        </>
      )}
      {doubts.map((doubt) => (
        <p key={doubt}>{doubt}</p>
      ))}
    </div>
  );
}

/** Beside alerts too: there may be more, and earlier ones. */
function AlsoMissing({ store }: { readonly store: Store }) {
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

function Found({ store }: { readonly store: Store }) {
  const pages = store.lists.value?.alerts;
  if (pages === undefined) return null;
  void pages.edition.value;
  const total = pages.total.value;
  const breakdown = pages.at(0)?.breakdown ?? new Map([["InfNanAlert", total]]);
  const failure = pages.failure.value;
  return (
    <>
      <FirstBadBox store={store} />
      <div class="alert-types">
        {[...breakdown].map(([type, n]) => (
          <button
            key={type}
            type="button"
            class="alert-type"
            data-testid={`alert-type-${type}`}
            onClick={() => void store.focusAlert(store.leading.value)}
          >
            <span>{TYPES[type] ?? type}</span>
            <b class="badge">{grouped(n)}</b>
          </button>
        ))}
      </div>
      <AlsoMissing store={store} />
      {failure !== undefined && <Failure message={failure} />}
      <VirtualList
        id="alert"
        label="Alerts in the order of time"
        rows={total}
        rowHeight={ROW}
        headerHeight={0}
        focusRow={store.alert.value}
        revealRow={store.alert.value}
        revealKey=""
        onVisible={(begin, end) => pages.want(begin, Math.max(end, 1))}
        onStep={(row) => void store.focusAlert(alertIndex(row))}
        render={(row, place) => {
          const page = pages.at(row);
          return (
            <AlertRow
              key={row}
              store={store}
              index={alertIndex(row)}
              alert={page?.alerts[row - page.begin]}
              place={place}
            />
          );
        }}
      />
    </>
  );
}

interface AlertRowProps {
  readonly store: Store;
  readonly index: AlertIndex;
  readonly alert: Alert | undefined;
  readonly place: RowPlace;
}

function AlertRow({ store, index, alert, place }: AlertRowProps) {
  const selected = store.alert.value === index;
  if (alert === undefined)
    return (
      <div {...place} role="row" class="row alert-row" aria-selected={selected}>
        <span role="gridcell" class="dim">
          Loading …
        </span>
      </div>
    );
  const summary = alertSummary(alert);
  const name =
    alert.op_name === undefined ? displayName(alert.op_type) : tensorName(alert.op_name, alert.output_slot);
  return (
    <div
      {...place}
      role="row"
      class="row alert-row"
      aria-selected={selected}
      onClick={() => void store.focusAlert(index)}
    >
      <span role="gridcell" class="alert-what">
        <TensorName name={name} />
        <span class="bad">{badWords(summary)}</span>
      </span>
      <span role="gridcell" class="alert-where dim">
        <span class="ellipsis" title={alertPlace(alert)}>
          {alertPlace(alert)}
        </span>
        <HealthBar summary={summary} />
      </span>
    </div>
  );
}

function alertPlace(alert: Alert): string {
  if (alert.graph_execution_trace_index === undefined) {
    const kind = isFunctionName(alert.op_type) ? "output of the call" : "eager op";
    return `${kind} · #${alert.execution_index ?? "?"}`;
  }
  const func = alert.graph_name === undefined ? "" : ` in ${displayName(alert.graph_name)}`;
  const belongs = belongingWords(alert.op_name ?? "", belongingOf(alert, alert.gradient_of));
  const place = `${alert.op_type}${func} · #${alert.graph_execution_trace_index}`;
  return belongs === undefined ? place : `${belongs} · ${place}`;
}

function FirstBadBox({ store }: { readonly store: Store }) {
  const loaded = store.firstBad.value;
  const found = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (found === undefined) return <Hint>Looking for the cause …</Hint>;
  return (
    <div class="first-bad" data-testid="first-bad">
      <p>
        <b>{store.leading.value === 0 ? "First bad value: " : "First NaN: "}</b>
        <Words phrases={found.diagnosis.what} />
      </p>
      <p>
        <Words phrases={found.diagnosis.why} />
      </p>
      {store.leading.value > 0 && (
        <p class="dim">
          {counted(store.leading.value, "alert")} before it, infinite only; the first is a constant that the
          program wrote, such as a mask.
        </p>
      )}
      {found.forward !== undefined && (
        <p>
          Part of the gradient of <code>{found.forward.op_name}</code>:
        </p>
      )}
      <FirstFrame store={store} found={found} />
      {found.diagnosis.help !== undefined && <p class="help">{found.diagnosis.help}</p>}
    </div>
  );
}

function FirstFrame({ store, found }: { readonly store: Store; readonly found: FirstBad }) {
  const { frame, forward } = found;
  if (frame === undefined) return null;
  const show = () => {
    if (forward === undefined) void store.focusAlert(store.leading.value);
    else store.follow(forwardTarget(forward));
  };
  return (
    <p>
      <button type="button" class="link" title={frame.path} onClick={show}>
        {basename(frame.path)}:{frame.line}
      </button>
      {frame.text !== undefined && <code class="line-text">{frame.text.trim()}</code>}
    </p>
  );
}
