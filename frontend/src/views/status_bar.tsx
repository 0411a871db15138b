/** One line about the run: its name and state, what is not recorded, what failed; and the search field. */
import type { Logdir, Status } from "../api/answers";
import { shown } from "../base/loaded";
import { bytes, counted, duration, grouped } from "../base/text";
import { gapsCount, gapsOf } from "../model/gaps";
import { countedProcesses } from "../model/processes";
import { titleOf } from "../model/runs";
import { markOf, stateOf } from "../model/verdict";
import { ChangedCount } from "./changed_tag";
import { GapList } from "./gap_list";
import { lazy } from "./lazy";
import { LiveButton } from "./live/start_card";
import { LogdirProblems } from "./logdir_problems";
import { Popover } from "./popover";
import type { Takes, With } from "./props";
import { Search } from "./search";
import { StepBar } from "./steps";

const RunList = lazy(async () => (await import("./runs/run_list")).RunList);

type Uses = Takes<
  "connection" | "logdir" | "problem" | "run" | "runs" | "silent" | "status",
  "live.connection" | "live.program" | "verdict",
  typeof RunList,
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

/** The run in focus, which opens the list of all runs. */
function RunSelector({ store }: With<Uses>) {
  const name = store.run.value;
  const runs = shown(store.runs.value);
  if (name === undefined) return null;
  const title = titleOf(runs, name);
  const verdict = shown(store.verdict.value) ?? runs?.get(name)?.verdict;
  return (
    <Popover
      label={<RunName mark={markOf(verdict)} title={title} />}
      name="Runs"
      className="run-button framed line slim"
      title={`${title}: all runs, its note and its report`}
      isOver
      testId="run"
    >
      {(close) => <RunList store={store} close={close} />}
    </Popover>
  );
}

function RunName({ mark, title }: { readonly mark: string; readonly title: string }) {
  return (
    <>
      {mark !== "" && <span aria-hidden="true">{mark}</span>}
      <b class="run cut">{title}</b>
    </>
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
