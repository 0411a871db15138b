/** Checks of the answers of the routes in docs/http-api.md, and the types of checked answers. */
import * as ids from "../base/ids";
import { branded, type Check, type Checked, list, listOrNone, number, object, optional, text } from "./check";
import { health, type Run } from "./generated/answers";

export type {
  Health as WireHealth,
  LinkTarget as WireTarget,
  Phrase as WirePhrase,
  RunVerdict as Verdict,
} from "./generated/answers";
export * from "./generated/answers";

const execution = branded(number, ids.executionIndex);
const graphExecution = branded(number, ids.graphExecutionIndex);
const graph = branded(text, ids.graphId);
const frame = branded(text, ids.frameId);

/** An item of a list that may be null, so that the other items keep their positions. */
const slotOf =
  <T>(check: Check<T>): Check<T | undefined> =>
  (v, where) =>
    v === null ? undefined : check(v, where);

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

export type Runs = ReadonlyMap<string, Run>;
