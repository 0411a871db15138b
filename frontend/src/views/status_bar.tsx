/** One line about the run: its name and state, what is not recorded, what failed; and the search field. */
import type { Logdir, Status } from "../api/answers";
import type { RunName } from "../base/ids";
import { shown } from "../base/loaded";
import { bytes, counted, duration, grouped } from "../base/text";
import { gapsCount, gapsOf } from "../model/gaps";
import { countedProcesses } from "../model/processes";
import { type RunTitle, runTitles } from "../model/runs";
import { stateOf } from "../model/verdict";
import { ChangedCount } from "./changed_tag";
import { Choice, type Option } from "./choice";
import { GapList } from "./gap_list";
import { LiveButton } from "./live/start_card";
import { LogdirProblems } from "./logdir_problems";
import type { Takes, With } from "./props";
import { Search } from "./search";
import { StepBar } from "./steps";

type Uses = Takes<
  "connection" | "logdir" | "problem" | "run" | "runs" | "silent" | "status",
  "comparison.other" | "live.connection" | "live.program",
  "comparison.compareWith" | "selectRun",
  typeof GapList | typeof LiveButton | typeof Search | typeof StepBar
>;

export function StatusBar({ store }: With<Uses>) {
  const status = store.status.value;
  return (
    <header class="status">
      <h1 class="unseen">Debugger</h1>
      <RunSelector store={store} />
      <LogdirNotice logdir={store.logdir.value} />
      {status !== undefined && <State status={status} isSilent={store.silent.value} />}
      {status !== undefined && <Facts status={status} />}
      {status?.loading !== undefined && (
        <Progress
          done={status.loading.bytes_done}
          total={status.loading.bytes_total}
          events={status.num_executions + status.num_graph_executions}
        />
      )}
      {status !== undefined && <Dropped status={status} />}
      {status !== undefined && <ChangedCount status={status} />}
      <StepBar store={store} />
      <span class="spring grow" />
      <Problem store={store} />
      {status !== undefined && <NotRecorded store={store} status={status} />}
      {status !== undefined && <Notices status={status} />}
      <LiveButton store={store} />
      <Search key={store.run.value} store={store} />
    </header>
  );
}

function RunSelector({ store }: With<Uses>) {
  const runs = runTitles(shown(store.runs.value));
  if (runs.length === 0) return null;
  if (runs.length === 1) return <b class="run">{runs[0]?.title}</b>;
  return (
    <>
      <label>
        Run{" "}
        <Choice
          options={runs.map(optionOf)}
          value={store.run.value}
          choose={(run) => store.selectRun(run)}
          testId="run"
        />
      </label>
      <OtherRun store={store} runs={runs} />
    </>
  );
}

const NO_RUN: Option<""> = { value: "", title: "…" };

function optionOf({ name, title, mark, note }: RunTitle): Option<RunName> {
  return { value: name, title: mark + title + note };
}

/** Chooses the run that the run in focus is compared with. */
function OtherRun({ store, runs }: With<Uses, { runs: readonly RunTitle[] }>) {
  const others = runs.filter(({ name }) => name !== store.run.value);
  const other = store.comparison.other.value;
  const isListed = other === undefined || others.some(({ name }) => name === other);
  const unlisted = isListed ? [] : [{ value: other, title: other }];
  return (
    <label>
      Compare with{" "}
      <Choice<RunName | "">
        options={[NO_RUN, ...unlisted, ...others.map(optionOf)]}
        value={other ?? ""}
        choose={(run) => store.comparison.compareWith(run === "" ? undefined : run)}
        testId="compare-with"
      />
    </label>
  );
}

/** The folders and files of the logdir whose runs are not in the list, because they cannot be read. */
function LogdirNotice({ logdir }: { readonly logdir: Logdir | undefined }) {
  const n = logdir?.problems.length ?? 0;
  if (logdir === undefined || n === 0) return null;
  return (
    <details class="notices notices-left">
      <summary>⚠ {counted(n, "place")} not readable</summary>
      <div class="notices-box scroll">
        <LogdirProblems logdir={logdir} />
      </div>
    </details>
  );
}

function State({ status, isSilent }: { readonly status: Status; readonly isSilent: boolean }) {
  const { kind, text, why } = stateOf(status, isSilent);
  return (
    <span class={`state level state-${kind}`} title={why}>
      <i aria-hidden="true" /> {text}
    </span>
  );
}

function Facts({ status }: { readonly status: Status }) {
  const { start_time: start, end_time: end } = status;
  const facts = [
    counted(status.num_executions, "execution"),
    counted(status.num_graph_executions, "graph execution"),
    status.tensor_debug_mode,
    start !== undefined && end !== undefined && end > start ? duration(end - start) : undefined,
    status.hosts.length > 1 ? countedProcesses(status.hosts) : status.hosts[0] && `on ${status.hosts[0]}`,
    status.tensorflow_version === undefined ? undefined : `TensorFlow ${status.tensorflow_version}`,
  ];
  const text = facts.filter(Boolean).join(" · ");
  return (
    <span class="facts" title={text}>
      {text}
    </span>
  );
}

interface ProgressProps {
  readonly done: number;
  readonly total: number;
  readonly events: number;
}

function Progress({ done, total, events }: ProgressProps) {
  return (
    <span class="progress">
      Loading <progress value={done} max={Math.max(1, total)} aria-label="Loading" /> {bytes(done)} of{" "}
      {bytes(total)}, {counted(events, "event")} so far
    </span>
  );
}

function Dropped({ status }: { readonly status: Status }) {
  const { dropped_executions: executions = 0, dropped_graph_executions: traces = 0 } = status;
  if (executions + traces === 0) return null;
  const size = status.circular_buffer_size;
  const why = size
    ? `The circular buffer of ${grouped(size)} kept the last ones, and those around the first bad tensors. Record with circular_buffer_size=-1 to keep all.`
    : "The files had reached max_bytes: what was recorded before stayed, and then the last ones, and those around the first bad tensors. Record with max_bytes=None to keep all.";
  return (
    <span class="dropped" title={why}>
      dropped: {counted(executions, "execution")}, {counted(traces, "graph execution")}
    </span>
  );
}

function Problem({ store }: With<Uses>) {
  const { program, connection } = store.live;
  // The bar of the program says so too, and stands below.
  const isSaid = program.value !== undefined && connection.value !== undefined;
  const text = (isSaid ? undefined : store.connection.value) ?? store.problem.value;
  if (text === undefined) return null;
  return (
    <span class="problem cut" role="alert" title={text}>
      {text}
    </span>
  );
}

function NotRecorded({ store, status }: With<Uses, { status: Status }>) {
  const gaps = gapsOf(status);
  if (gaps.length === 0) return null;
  return (
    <details class="notices" data-testid="status-not-recorded">
      <summary class={gaps[0]?.severe ? "bad" : ""}>⚠ {gapsCount(gaps)}</summary>
      <div class="notices-box scroll">
        <GapList store={store} gaps={gaps} />
      </div>
    </details>
  );
}

function Notices({ status }: { readonly status: Status }) {
  if (status.notices.length === 0) return null;
  return (
    <details class="notices">
      <summary>⚠ {counted(status.notices.length, "notice")}</summary>
      <ul class="notices-box scroll">
        {status.notices.map((notice, i) => (
          <li key={i}>
            {notice.file !== undefined && (
              <b>
                {notice.file}
                {notice.offset !== undefined && ` at byte ${grouped(notice.offset)}`}:{" "}
              </b>
            )}
            {notice.message}
          </li>
        ))}
      </ul>
    </details>
  );
}
