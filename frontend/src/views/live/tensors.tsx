/** The tensors of the current call: what each is, its value or a way to it, its health, and its line. */
import { useMemo } from "preact/hooks";
import type { LiveTensor, ProgramState } from "../../api/live";
import { bytes, counted, grouped } from "../../base/text";
import { callWords } from "../../model/live/program";
import { expressionOf, filteredRows, positionOf, summaryOf, withCurrent } from "../../model/live/tensor_rows";
import { tensorName } from "../../model/names";
import { GRAPH_EXECUTION_ROW, LIST_HEADER } from "../geometry";
import { Failure, Hint } from "../panel";
import type { Of, With } from "../props";
import { type RowAttributes, VirtualList } from "../virtual_list";
import { NameFilterFields } from "./name_filter";
import { TensorHeads, TensorRow } from "./tensor_row";

type Uses = "live" | "livePanel" | typeof TensorRow;

/** "train_step (call 3) · 1,204 tensors · 12 MB held", and what is not held any more. */
export function TensorsNote({ store }: With<Uses>) {
  const state = store.live.state.value;
  const { rows, total, call: of } = store.livePanel.rows.value;
  if (state === undefined) return null;
  const { call, held_bytes: held } = state;
  const words = [
    // Before a call, the tensors are still those of the call before.
    of === undefined || of === call?.number ? call && callWords(call) : `call ${of}`,
    rows.length < total ? `${grouped(rows.length)} of ${counted(total, "tensor")}` : counted(total, "tensor"),
    held > 0 ? `${bytes(held)} held` : undefined,
  ];
  return (
    <span data-testid="live-tensors-note">
      {words.filter(Boolean).join(" · ")}
      <Dropped state={state} />
      <Failed state={state} />
    </span>
  );
}

/** Says that the memory limit cost values. */
function Dropped({ state }: { readonly state: ProgramState }) {
  const { dropped_values: n, max_held_bytes: most } = state;
  if (n === 0) return null;
  const why = `The program holds at most ${bytes(most)} of values, and dropped the oldest ones. Their numbers are still there.`;
  return (
    <span class="warning" title={why} data-testid="live-dropped">
      {" "}
      · {counted(n, "value")} dropped (limit {bytes(most)})
    </span>
  );
}

/** The inputs of the op that failed. */
function Failed({ state: { pause } }: { readonly state: ProgramState }) {
  if (pause?.failed === undefined) return null;
  const name = tensorName(pause.failed.op_name, Math.max(0, pause.failed.slot));
  const inputs = pause.inputs.map((one) =>
    [tensorName(one.op_name, one.slot), ...valueWords(one)].filter(Boolean).join(" "),
  );
  return (
    <span class="warning" title={pause.sentence} data-testid="live-failed">
      {` · ${name} failed${inputs.length === 0 ? "" : `; its inputs: ${inputs.join(", ")}`}`}
    </span>
  );
}

/** The dtype, the shape and the text of a tensor, as far as they are known. */
function valueWords(tensor: LiveTensor): readonly (string | undefined)[] {
  const { dtype, shape } = summaryOf(tensor);
  return [dtype, shape, tensor.text && `= ${tensor.text}`];
}

export function TensorsTools({ store }: With<Uses>) {
  const { tensorFilter, setTensorFilter } = store.livePanel;
  return <NameFilterFields what="tensors" filter={tensorFilter.value} set={setTensorFilter} />;
}

export function Tensors({ store }: With<Uses>) {
  const panel = store.livePanel;
  const [listed, state] = [panel.rows.value, store.live.state.value];
  const [now, current] = [state?.call?.number, state?.pause?.tensor];
  const rows = useMemo(() => withCurrent(listed, now, current), [listed, now, current]);
  const filter = panel.tensorFilter.value;
  const shown = useMemo(() => filteredRows(rows, filter), [rows, filter]);
  const failure = panel.rowsFailure.value;
  const isOver = state?.phase === "ended";
  if (failure !== undefined && rows.length === 0 && !isOver) return <Failure message={failure} />;
  if (rows.length === 0) return <Hint>{emptyWords(store)}</Hint>;
  if (shown.length === 0)
    return (
      <Hint>
        {expressionOf(filter) === "wrong"
          ? "The filter is no regular expression."
          : "No tensor fits the filter."}
      </Hint>
    );
  return <TensorList store={store} rows={shown} />;
}

function emptyWords(store: Of<Uses>): string {
  const state = store.live.state.value;
  if (state === undefined) return "The program does not answer.";
  if (state.phase === "ended")
    return "The program has ended. What it recorded is in the panes of the recording.";
  if (state.phase === "running" || state.phase === "detached")
    return "Tensors are listed while the program is paused, steps, or has breakpoints.";
  if (state.call?.is_over)
    return "The program held no tensor of this call, because nothing could stop in it. What it computed is in the list of graph executions.";
  return "No tensor was computed yet in this call: step to the next one.";
}

function TensorList({ store, rows }: With<Uses, { rows: readonly LiveTensor[] }>) {
  const panel = store.livePanel;
  const pause = store.live.state.value?.pause;
  const current = pause?.tensor?.number;
  const chosen = panel.chosenTensor.value;
  const focusRow = positionOf(rows, chosen) ?? positionOf(rows, current);
  const draw = (i: number, attributes: RowAttributes) => {
    const tensor = rows[i];
    if (tensor === undefined) return null;
    const isCurrent = tensor.number === current;
    // The state is newer than the list: the value may have been changed since.
    const newest = isCurrent && pause?.tensor !== undefined ? pause.tensor : tensor;
    const row = { store, attributes, isCurrent, tensor: newest, isChosen: i === focusRow };
    return <TensorRow key={tensor.number} {...row} />;
  };
  return (
    <VirtualList
      label="Tensors of the call"
      id="live-tensor"
      rows={rows.length}
      rowHeight={GRAPH_EXECUTION_ROW}
      headerHeight={LIST_HEADER}
      header={<TensorHeads />}
      focusRow={focusRow}
      revealRow={positionOf(rows, current)}
      revealKey={`${pause?.number}`}
      isKeptInView
      onVisible={() => {}}
      onStep={(row) => rows[row] && panel.chooseTensor(rows[row])}
      onKey={(key) => focusRow !== undefined && takeKey(store, key, rows[focusRow])}
      render={draw}
    />
  );
}

/** The keys of the buttons of a row; returns whether the key is one. */
function takeKey(store: Of<Uses>, key: string, tensor: LiveTensor | undefined): boolean {
  const panel = store.livePanel;
  if (tensor === undefined) return false;
  const acts: Readonly<Record<string, () => void>> = {
    Enter: () => panel.showLiveValue(tensor.number),
    v: () => panel.showLiveValue(tensor.number),
    b: () => void panel.toggleTensor(tensor),
    c: () => void panel.continueTo(tensor),
    w: () => void panel.toggleWatch(tensor),
  };
  const act = acts[key];
  act?.();
  return act !== undefined;
}
