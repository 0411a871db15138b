/** Checks of the answers of the routes in docs/http-api.md, and the types of checked answers. */
import * as ids from "../base/ids";
import {
  branded,
  type Check,
  type Checked,
  list,
  listOrNone,
  number,
  object,
  optional,
  record,
  text,
  truth,
} from "./check";
import { NUMBERS, type NumberName } from "./generated/modes";

const execution = branded(number, ids.executionIndex);
const graphExecution = branded(number, ids.graphExecutionIndex);
const graph = branded(text, ids.graphId);
const frame = branded(text, ids.frameId);

/** An item of a list that may be null, so that the other items keep their positions. */
const slotOf =
  <T>(check: Check<T>): Check<T | undefined> =>
  (v, where) =>
    v === null ? undefined : check(v, where);

const notRecorded = object({
  host: optional(text),
  reason: text,
  names: listOrNone(text),
  message: text,
  graph_id: optional(graph),
});

const changedValue = object({
  op_name: text,
  slot: number,
  expression: text,
  graph_execution: optional(graphExecution),
  execution: optional(execution),
  owner_execution_index: optional(execution),
});
export type ChangedValue = Checked<typeof changedValue>;

const notice = object({ severity: text, file: optional(text), offset: optional(number), message: text });

export const status = object({
  generation: number,
  /** The generation that the origins are of which the server would answer now. */
  origins_generation: optional(number),
  described: optional(number),
  num_executions: number,
  num_graph_executions: number,
  num_bad_graph_executions: number,
  num_alerts: number,
  loading: optional(object({ bytes_done: number, bytes_total: number })),
  finished: optional(truth),
  tensor_debug_mode: optional(text),
  circular_buffer_size: optional(number),
  dropped_executions: optional(number),
  dropped_graph_executions: optional(number),
  pinned_executions: optional(number),
  pinned_graph_executions: optional(number),
  tensorflow_version: optional(text),
  recorder: optional(text),
  hosts: listOrNone(text),
  start_time: optional(number),
  end_time: optional(number),
  not_recorded: listOrNone(notRecorded),
  changed_values: listOrNone(changedValue),
  notices: listOrNone(notice),
});
export type Status = Checked<typeof status>;
export type Notice = Checked<typeof notice>;

const alert = object({
  alert_type: text,
  measured: text,
  bad: optional(truth),
  op_type: text,
  output_slot: number,
  size: optional(number),
  num_neg_inf: optional(number),
  num_pos_inf: optional(number),
  num_nan: optional(number),
  execution_index: optional(execution),
  graph_execution_trace_index: optional(graphExecution),
  op_name: optional(text),
  graph_id: optional(graph),
  graph_name: optional(text),
  wall_time: optional(number),
  owner_execution_index: optional(execution),
  layer: optional(text),
  variable: optional(text),
  gradient_of: listOrNone(text),
  process: optional(text),
});
export type Alert = Checked<typeof alert>;

const alertRule = object({ alert_type: text, title: text, severity: text, description: text });
export type AlertRule = Checked<typeof alertRule>;

export const alerts = object({
  num_alerts: number,
  alerts_breakdown: record(number),
  first_cause: optional(branded(number, ids.alertIndex)),
  rules: list(alertRule),
  alerts: list(alert),
});
export type Alerts = Checked<typeof alerts>;

/** A recorded value that a link leads to. */
const target = object({
  graph_id: optional(graph),
  op_name: optional(text),
  graph_execution_index: optional(graphExecution),
  execution_index: optional(execution),
});
export type WireTarget = Checked<typeof target>;

/** `role` says how the phrase is drawn: text, code, number or link. Later servers may have others. */
export const phrase = object({ role: text, text, target: optional(target) });
export type WirePhrase = Checked<typeof phrase>;

/** A change of the program; without `before`, `after` is only like it. */
export const example = object({ before: optional(text), after: text });
export type Example = Checked<typeof example>;

const diagnosisOf = object({
  index: optional(branded(number, ids.alertIndex)),
  alert: optional(alert),
  headline: text,
  what: list(phrase),
  why: list(phrase),
  where: list(phrase),
  help: optional(text),
  example: optional(example),
  certainty: optional(text),
  missing: optional(text),
});
export type Diagnosis = Checked<typeof diagnosisOf>;
export const diagnosis = object({ diagnosis: optional(diagnosisOf) });

/** The measured numbers of a tensor. */
const numbers = Object.fromEntries(NUMBERS.map((name) => [name, optional(number)])) as Record<
  NumberName,
  Check<number | undefined>
>;

export const health = object({
  graph_execution_index: optional(graphExecution),
  tensor_debug_mode: optional(number),
  dtype: optional(text),
  rank: optional(number),
  shape: optional(list(slotOf(number))),
  ...numbers,
  bad: optional(truth),
});
export type WireHealth = Checked<typeof health>;

const executionInput = object({
  tensor_id: optional(number),
  execution_index: optional(execution),
  output_slot: optional(number),
  op_type: optional(text),
  health: optional(health),
});

const sessionRequest = object({
  feeds: list(object({ name: text })),
  fetches: list(text),
  targets: list(text),
});
export const sessionRuns = object({
  num_session_runs: number,
  session_runs: list(
    object({
      session: number,
      run: number,
      request: optional(number),
      begin_time: number,
      end_time: number,
      error: optional(text),
    }),
  ),
  requests: list(sessionRequest),
});
export type SessionRuns = Checked<typeof sessionRuns>;

const executionData = object({
  wall_time: number,
  op_type: text,
  host_name: optional(text),
  stack_frame_ids: listOrNone(frame),
  graph_id: optional(graph),
  input_tensor_ids: listOrNone(number),
  output_tensor_ids: listOrNone(number),
  outputs: listOrNone(slotOf(health)),
  inputs: listOrNone(executionInput),
  device_names: listOrNone(slotOf(text)),
});
export type ExecutionData = Checked<typeof executionData>;
export type ExecutionInput = Checked<typeof executionInput>;
export const executions = object({ executions: list(executionData) });

const output = object({
  dtype: optional(text),
  shape: optional(list(slotOf(number))),
  gradient_of: listOrNone(text),
  health: optional(health),
});
export type OpOutput = Checked<typeof output>;

const op = object({
  op_type: text,
  op_name: text,
  graph_name: optional(text),
  graph_ids: listOrNone(graph),
  stack_frame_ids: listOrNone(frame),
  device_name: optional(text),
  host_name: optional(text),
  num_outputs: optional(number),
  passes_on: optional(truth),
  layer: optional(text),
  variable: optional(text),
  outputs: listOrNone(output),
});
export type Op = Checked<typeof op>;

const outputOfOp = { op_name: text, output_slot: number, data: optional(op) };
const opInput = object({ ...outputOfOp, same: optional(object(outputOfOp)) });
const opConsumer = object({ op_name: text, input_slot: number, data: optional(op) });
export type OpInput = Checked<typeof opInput>;
export type OpConsumer = Checked<typeof opConsumer>;

/** The op whose gradient an op is part of. */
const forward = object({
  graph_id: graph,
  op_name: text,
  op_type: text,
  stack_frame_ids: listOrNone(frame),
  graph_execution_index: optional(graphExecution),
});
export type Forward = Checked<typeof forward>;

const neighbours = object({
  inputs: listOrNone(opInput),
  consumers: listOrNone(listOrNone(opConsumer)),
  runs: listOrNone(object({ graph_id: graph, graph_name: optional(text) })),
  forward: optional(forward),
});
export const opInfo: Check<Op & Checked<typeof neighbours>> = (v, where) => ({
  ...op(v, where),
  ...neighbours(v, where),
});
export type OpInfo = Checked<typeof opInfo>;

export const graphInfo = object({
  name: optional(text),
  graph_id: graph,
  outer_graph_id: optional(graph),
  inner_graph_ids: listOrNone(graph),
});
export type GraphInfo = Checked<typeof graphInfo>;

const frameTuple: Check<readonly [string, string, number, string]> = (v, where) => {
  const [host, path, line, func] = list((item: unknown) => item)(v, where);
  return [text(host, where), text(path, where), number(line, where), text(func, where)];
};
const frameDetail = object({
  file_index: optional(branded(number, ids.fileIndex)),
  text: optional(text),
  origin: text,
});
export const frames = object({ stack_frames: list(frameTuple), details: list(frameDetail) });
export type Frames = Checked<typeof frames>;

const excerpt = object({ first_line: number, lines: list(text) });
export type Excerpt = Checked<typeof excerpt>;
export const sourceFile = object({
  host_name: optional(text),
  file_path: text,
  lines: list(text),
  excerpts: listOrNone(excerpt),
});
export type SourceFile = Checked<typeof sourceFile>;

const hostAndPath: Check<readonly [string, string]> = (v, where) => {
  const [host, path] = list(text)(v, where);
  return [text(host, where), text(path, where)];
};
export const sourceFiles = list(hostAndPath);

const lineOps = object({
  line: number,
  num_ops: number,
  executions: number,
  ops: list(object({ graph_id: graph, op_name: text, op_type: optional(text) })),
});
/** What a line of a source file made and ran. */
export type LineOps = Checked<typeof lineOps>;
export const sourceOps = object({ lines: list(lineOps) });

export const overview = object({ total: number, bad: list(number), measured: list(number) });
export type Overview = Checked<typeof overview>;

export const located = object({
  execution_index: optional(execution),
  graph_execution_begin: optional(graphExecution),
  graph_execution_end: optional(graphExecution),
  bad_before: optional(number),
  before: optional(number),
});
export type Located = Checked<typeof located>;

/** What is to be said of a run; `kind` may be one of a later server. */
export const verdict = object({
  kind: text,
  headline: text,
  sentences: list(text),
  doubts: list(text),
  is_good: truth,
});
export type Verdict = Checked<typeof verdict>;

export const runs = record(object({ start_time: number, title: optional(text), verdict: optional(verdict) }));
export type Runs = Checked<typeof runs>;

/** The folder that the host was started on, and the folders and files in it that cannot be read. */
export const logdir = object({
  logdir: optional(text),
  problems: listOrNone(object({ location: optional(text), message: text })),
});
export type Logdir = Checked<typeof logdir>;
