/**
 * A computed server: a run of any length in which every step has the same few ops and calls. From one step on,
 * the log of a zero spreads. The tests of the store use it.
 */
import { encodeColumns } from "./encode";

interface OpSpec {
  readonly name: string;
  readonly type: string;
  readonly graph: "model" | "loss";
  readonly inputs: readonly string[];
  readonly shape: string;
  readonly size: number;
  /** Counts of −∞, −, 0, +, +∞ and NaN from the first bad step on. */
  readonly ill: readonly [number, number, number, number, number, number];
  readonly well: readonly [number, number, number, number, number, number];
}

const finite = (size: number): OpSpec["well"] => [
  0,
  Math.floor(size * 0.48),
  0,
  Math.ceil(size * 0.52),
  0,
  0,
];

function op(
  name: string,
  type: string,
  graph: OpSpec["graph"],
  inputs: readonly string[],
  dims: readonly number[],
  ill?: OpSpec["ill"],
): OpSpec {
  const size = dims.reduce((a, b) => a * b, 1);
  return {
    name,
    type,
    graph,
    inputs,
    shape: `[${dims.join(", ")}]`,
    size,
    well: finite(size),
    ill: ill ?? finite(size),
  };
}

const OPS: readonly OpSpec[] = [
  op("x", "Placeholder", "model", [], [100, 64], [0, 0, 3100, 3300, 0, 0]),
  op("dense/MatMul/ReadVariableOp", "ReadVariableOp", "model", [], [64, 10]),
  op("dense/MatMul", "MatMul", "model", ["x", "dense/MatMul/ReadVariableOp"], [100, 10]),
  op("Softmax", "Softmax", "model", ["dense/MatMul"], [100, 10], [0, 0, 200, 800, 0, 0]),
  op("probs", "Placeholder", "loss", [], [100, 10], [0, 0, 200, 800, 0, 0]),
  op("labels", "Placeholder", "loss", [], [100, 10], [0, 0, 900, 100, 0, 0]),
  op("Neg", "Neg", "loss", ["labels"], [100, 10], [0, 100, 900, 0, 0, 0]),
  op("Log", "Log", "loss", ["probs"], [100, 10], [200, 796, 4, 0, 0, 0]),
  op("mul", "Mul", "loss", ["Neg", "Log"], [100, 10], [0, 0, 700, 100, 22, 178]),
  op("Mean", "Mean", "loss", ["mul"], [], [0, 0, 0, 0, 0, 1]),
];
const CALLS = [
  "__inference_model_123",
  "__inference_loss_456",
  "__inference___backward_loss_789",
  "ReadVariableOp",
  "Sub",
  "AssignVariableOp",
  "Mul",
  "AddV2",
  "Sqrt",
  "Iterator",
];
const FRAMES: readonly [string, number, string, string, "user" | "library"][] = [
  ["/home/user/train.py", 88, "<module>", "main()", "user"],
  ["/home/user/train.py", 71, "main", "    value = loss(model(x), labels)", "user"],
  [
    "/usr/lib/python3/site-packages/tensorflow/python/util/traceback_utils.py",
    150,
    "error_handler",
    "return fn(*args, **kwargs)",
    "library",
  ],
  [
    "/usr/lib/python3/site-packages/tensorflow/python/eager/polymorphic_function/polymorphic_function.py",
    833,
    "__call__",
    "result = self._call(*args, **kwds)",
    "library",
  ],
  ["/home/user/losses.py", 14, "loss", "    return tf.reduce_mean(-labels * tf.math.log(probs))", "user"],
  [
    "/usr/lib/python3/site-packages/tensorflow/python/ops/gen_math_ops.py",
    5400,
    "log",
    "_, _, _op, _outputs = _op_def_library._apply_op_helper(",
    "library",
  ],
];
const FILES = ["/home/user/train.py", "/home/user/losses.py"];

const f64 = { type: "f64" } as const;
const i32 = { type: "i32" } as const;
const u8 = { type: "u8" } as const;
const dict = { type: "i32", dictionary: true } as const;
export const EXECUTIONS = {
  wall_time: f64,
  op_type: dict,
  is_function: u8,
  health: u8,
  call_health: u8,
  graph_id: dict,
  num_inputs: i32,
  num_outputs: i32,
};
export const TRACES = {
  index: f64,
  wall_time: f64,
  op_name: dict,
  op_type: dict,
  graph_id: dict,
  function: dict,
  device: dict,
  slot: i32,
  mode: u8,
  health: u8,
  dtype: u8,
  rank: i32,
  shape: dict,
  size: f64,
  neg_inf: f64,
  negative: f64,
  zero: f64,
  positive: f64,
  pos_inf: f64,
  nan: f64,
  owner: f64,
};

export interface FixtureOptions {
  readonly steps: number;
  /** The first step with bad values; `steps` or more for a healthy run. */
  readonly illFrom: number;
  /** The number of alerts for finite tensors, all before the first bad value. */
  readonly exploding?: number;
  readonly generation?: number;
  /** The places in the logdir that cannot be read. */
  readonly problems?: readonly { readonly location: string; readonly message: string }[];
  /** Fields that replace those of `status`. */
  readonly status?: Readonly<Record<string, unknown>>;
}

export type Answer = { readonly json: unknown; readonly status?: number } | { readonly bytes: ArrayBuffer };

export const RULES = [
  {
    alert_type: "InfNanAlert",
    title: "NaN/∞",
    severity: "error",
    description: "The tensor has NaN, −∞ or +∞.",
  },
  {
    alert_type: "ExplodingAlert",
    title: "Exploding",
    severity: "warning",
    description: "The tensor is finite and has a magnitude beyond 1e+10.",
  },
];
/** The op whose finite values are alerts. */
const EXPLODING = OPS.findIndex(({ name }) => name === "dense/MatMul");
const KINDS = ["−∞", "negative", "zero", "positive", "+∞", "NaN"];

/** A function that answers the routes of docs/http-api.md. */
export function makeFixture({
  steps,
  illFrom,
  exploding = 0,
  generation = 1,
  problems = [],
  status = {},
}: FixtureOptions) {
  const perStep = OPS.length;
  const badOps = OPS.map((_, i) => i).filter((i) => bad(OPS[i]?.ill));
  const numTraces = steps * perStep;
  const numExecutions = steps * CALLS.length;
  const numBad = Math.max(0, steps - illFrom) * badOps.length;
  const counts = (trace: number) => {
    const spec = specAt(trace);
    return Math.floor(trace / perStep) >= illFrom ? spec.ill : spec.well;
  };
  const specAt = (trace: number): OpSpec => OPS[trace % perStep] as OpSpec;
  const badTrace = (position: number) =>
    (illFrom + Math.floor(position / badOps.length)) * perStep + (badOps[position % badOps.length] ?? 0);
  const owner = (trace: number) =>
    Math.floor(trace / perStep) * CALLS.length + (specAt(trace).graph === "model" ? 0 : 1);

  function health(trace: number) {
    const [neg_inf, negative, zero, positive, pos_inf, nan] = counts(trace);
    const { size, shape } = specAt(trace);
    return {
      graph_execution_index: trace,
      debug_tensor_value: null,
      tensor_debug_mode: 4,
      dtype: "float32",
      rank: JSON.parse(shape).length,
      shape: JSON.parse(shape),
      size,
      neg_inf,
      negative,
      zero,
      positive,
      pos_inf,
      nan,
      bad: bad(counts(trace)),
    };
  }

  function opAt(trace: number) {
    const spec = specAt(trace);
    return {
      wall_time: 1.7e9 + trace,
      op_type: spec.type,
      op_name: spec.name,
      output_tensor_ids: [trace],
      host_name: "host",
      stack_frame_ids: FRAMES.map((_, i) => `f${i}`),
      device_name: "/job:localhost/device:CPU:0",
      graph_name: spec.graph,
      graph_ids: [`g-${spec.graph}`],
      num_outputs: 1,
      outputs: [{ dtype: "float32", shape: JSON.parse(spec.shape), health: health(trace) }],
    };
  }

  function opInfo(graph: string, name: string, at: number) {
    const step = Math.floor(at / perStep) * perStep;
    const place = (op: string) => step + OPS.findIndex((o) => o.name === op && `g-${o.graph}` === graph);
    if (place(name) < step) return failed(`There is no op named "${name}" in graph with ID "${graph}".`);
    const spec = specAt(place(name));
    const consumers = OPS.filter((o) => o.graph === spec.graph && o.inputs.includes(name));
    return {
      json: {
        ...opAt(place(name)),
        inputs: spec.inputs.map((input) => ({ op_name: input, output_slot: 0, data: opAt(place(input)) })),
        consumers: [
          consumers.map((o) => ({
            op_name: o.name,
            input_slot: o.inputs.indexOf(name),
            data: opAt(place(o.name)),
          })),
        ],
      },
    };
  }

  function graphExecutionRow(trace: number) {
    const spec = specAt(trace);
    const [neg_inf, negative, zero, positive, pos_inf, nan] = counts(trace);
    return {
      index: trace,
      wall_time: 1.7e9 + trace / 1e3,
      op_name: spec.name,
      op_type: spec.type,
      graph_id: `g-${spec.graph}`,
      function: spec.graph,
      device: "/job:localhost/device:CPU:0",
      slot: 0,
      mode: 4,
      health: bad(counts(trace)) ? 2 : 1,
      dtype: 1,
      rank: JSON.parse(spec.shape).length,
      shape: spec.shape,
      size: spec.size,
      neg_inf,
      negative,
      zero,
      positive,
      pos_inf,
      nan,
      owner: owner(trace),
    };
  }

  function executionRow(i: number) {
    const opType = CALLS[i % CALLS.length] ?? "";
    const ill = Math.floor(i / CALLS.length) >= illFrom;
    const isLoss = i % CALLS.length === 1;
    return {
      wall_time: 1.7e9 + i / 1e3,
      op_type: opType,
      is_function: opType.startsWith("__") ? 1 : 0,
      health: ill && isLoss ? 2 : 1,
      call_health: isLoss && ill ? 2 : opType.startsWith("__") ? 1 : 0,
      graph_id: isLoss ? "g-loss" : null,
      num_inputs: 2,
      num_outputs: 1,
    };
  }

  function executionData(i: number) {
    const row = executionRow(i);
    const calm = { ...health(0), graph_execution_index: null };
    const ill = {
      ...calm,
      shape: null,
      rank: 0,
      size: 1,
      negative: 0,
      zero: 0,
      positive: 0,
      nan: 1,
      bad: true,
    };
    const maker =
      i > 0 ? { execution_index: i - 1, output_slot: 0, op_type: executionRow(i - 1).op_type } : {};
    return {
      ...row,
      index: i,
      graph_id: row.graph_id ?? "",
      host_name: "host",
      stack_frame_ids: ["f0", "f1"],
      input_tensor_ids: [i * 2, i * 2 + 1],
      output_tensor_ids: [i * 2 + 2],
      outputs: [row.health === 2 ? ill : calm],
      inputs: [{ tensor_id: i * 2, ...maker, health: calm }],
      device_names: ["/job:localhost/device:CPU:0"],
    };
  }

  function overview(total: number, buckets: number, isBad: (row: number) => boolean) {
    const part = (i: number) => Math.floor((i * total) / buckets);
    const count = (i: number) =>
      Array.from({ length: Math.min(50, part(i + 1) - part(i)) }, (_, k) => part(i) + k);
    const rows = Array.from({ length: buckets }, (_, i) => count(i));
    return { total, bad: rows.map((r) => r.filter(isBad).length), measured: rows.map((r) => r.length) };
  }

  /** "200 −∞": the counts of the bad kinds. */
  function badWords(trace: number): string {
    const words = counts(trace).map((n, i) => (n > 0 && [0, 4, 5].includes(i) ? `${n} ${KINDS[i]}` : ""));
    return words.filter(Boolean).join(", ");
  }

  /** The graph execution of an alert; alerts of finite tensors come first. */
  function alertTrace(position: number): number {
    return position < exploding ? position * perStep + EXPLODING : badTrace(position - exploding);
  }

  function alert(position: number) {
    const trace = alertTrace(position);
    const [num_neg_inf, , , , num_pos_inf, num_nan] = counts(trace);
    const spec = specAt(trace);
    const isBad = bad(counts(trace));
    return {
      alert_type: isBad ? "InfNanAlert" : "ExplodingAlert",
      measured: isBad ? badWords(trace) : "magnitude 3.2e+12",
      bad: isBad,
      op_type: spec.type,
      output_slot: 0,
      size: spec.size,
      num_neg_inf,
      num_pos_inf,
      num_nan,
      execution_index: null,
      graph_execution_trace_index: trace,
      op_name: spec.name,
      graph_id: `g-${spec.graph}`,
      graph_name: spec.graph,
      wall_time: 1.7e9,
      owner_execution_index: owner(trace),
    };
  }

  const numAlerts = exploding + numBad;
  const firstCause = numBad > 0 ? exploding : 0;

  /** Positions in the whole list of the alerts of a rule. */
  function alertsOf(type: string | null): readonly number[] {
    const all = Array.from({ length: numAlerts }, (_, i) => i);
    if (type === null) return all;
    return all.filter((i) => (i < exploding ? "ExplodingAlert" : "InfNanAlert") === type);
  }

  function alerts(q: URLSearchParams): Answer {
    const type = q.get("alert_type");
    if (type !== null && !RULES.some(({ alert_type }) => alert_type === type))
      return failed(`There is no alert type "${type}".`);
    const chosen = alertsOf(type);
    const breakdown = { InfNanAlert: numBad, ExplodingAlert: exploding };
    const cause = chosen.indexOf(firstCause);
    return {
      json: {
        ...range(q, chosen.length),
        alert_type: type,
        num_alerts: chosen.length,
        alerts_breakdown: Object.fromEntries(Object.entries(breakdown).filter(([, n]) => n > 0)),
        per_type_alert_limit: null,
        first_cause: cause < 0 ? null : cause,
        rules: RULES,
        alerts: rows(q, chosen.length).map((row) => alert(chosen[row] ?? 0)),
      },
    };
  }

  /** The sentences for a value of an op. */
  function explained(trace: number) {
    const spec = specAt(trace);
    const step = Math.floor(trace / perStep) * perStep;
    const inputs = spec.inputs.map(
      (name) => step + OPS.findIndex((o) => o.name === name && o.graph === spec.graph),
    );
    const carrier = inputs.find((input) => bad(counts(input)));
    const text = (words: string) => ({ role: "text", text: words });
    const isBad = bad(counts(trace));
    const target = {
      graph_id: `g-${spec.graph}`,
      op_name: spec.name,
      graph_execution_index: trace,
      execution_index: null,
    };
    const held = (input: number, words: string, already = "") => [
      text("Its input "),
      { role: "code", text: `${specAt(input).name}:0` },
      text(` ${already}held `),
      { role: "number", text: words },
    ];
    return {
      index: null,
      alert: null,
      headline: `${spec.type} in loss, losses.py:14`,
      what: [
        { role: "code", text: spec.type },
        text(" (tensor "),
        { role: "code", text: `${spec.name}:0` },
        text(" in function "),
        { role: "code", text: spec.graph },
        text(isBad ? ") produced " : ") reached "),
        { role: "number", text: isBad ? badWords(trace) : "3.2e+12" },
        text(isBad ? ` out of ${spec.size.toLocaleString("en-US")} values.` : ", beyond 1e+10."),
      ],
      why:
        carrier !== undefined
          ? [...held(carrier, badWords(carrier), "already "), text(".")]
          : spec.type === "Log" && isBad
            ? [...held(inputs[0] ?? 0, "200 zeros"), text(": the logarithm of 0 is −∞.")]
            : [text("Its inputs were all finite.")],
      where: [
        { role: "link", text: "losses.py:14", target },
        text(" "),
        { role: "code", text: FRAMES[4]?.[3].trim() ?? "" },
      ],
      help: spec.type === "Log" ? "Clip the argument of the log from below." : null,
    };
  }

  function explainedExecution(index: number) {
    const target = { graph_id: null, op_name: null, graph_execution_index: null, execution_index: index };
    return {
      index: null,
      alert: null,
      headline: "loss in main, train.py:71",
      what: [
        { role: "code", text: "loss" },
        { role: "text", text: " (run eagerly) produced " },
        { role: "number", text: "NaN" },
        { role: "text", text: ", its only value." },
      ],
      why: [{ role: "text", text: "Its input was finite." }],
      where: [{ role: "link", text: "train.py:71", target }],
      help: null,
    };
  }

  function diagnosis(q: URLSearchParams) {
    if (q.has("execution")) {
      const index = Number(q.get("execution"));
      return executionRow(index).health === 2 ? explainedExecution(index) : null;
    }
    if (q.has("op_name")) {
      const step = Math.floor(Number(q.get("at") ?? numTraces - 1) / perStep) * perStep;
      const trace =
        step + OPS.findIndex((o) => o.name === q.get("op_name") && `g-${o.graph}` === q.get("graph_id"));
      return trace >= step && bad(counts(trace)) ? explained(trace) : null;
    }
    if (numAlerts === 0) return null;
    const index = Number(q.get("alert") ?? firstCause);
    return { ...explained(alertTrace(index)), index, alert: alert(index) };
  }

  const answers: Record<string, (q: URLSearchParams) => Answer> = {
    logdir: () => ({ json: { logdir: "/home/user/logs", problems } }),
    runs: () => ({ json: { "digits/first": { start_time: 1.7e9 } } }),
    status: () => ({
      json: {
        generation,
        num_executions: numExecutions,
        num_graph_executions: numTraces,
        num_bad_graph_executions: numBad,
        num_alerts: numAlerts,
        loading: null,
        finished: true,
        tensor_debug_mode: "FULL_HEALTH",
        circular_buffer_size: -1,
        dropped_executions: 0,
        dropped_graph_executions: 0,
        tensorflow_version: "2.21.0",
        recorder: "tb-debugger-plugin 0.1.0",
        hosts: ["host"],
        start_time: 1.7e9,
        end_time: 1.7e9 + 95,
        not_recorded: [
          {
            host: "host",
            reason: "not_instrumented",
            names: ["__inference_prepare_<b>data</b>_31", "__inference_augment_57"],
            message: "Watch ops could not be added to these functions.",
            graph_id: null,
          },
          {
            host: "host",
            reason: "made_before",
            names: ["ParallelMapDatasetV2"],
            message: "This input pipeline was made before the recording began: make it afterwards.",
            graph_id: null,
          },
        ],
        notices: [
          {
            severity: "warning",
            file: "tfdbg_events.1700000000.host.execution",
            offset: 4096,
            message: "The record here is damaged; what follows is left out.",
          },
        ],
        ...status,
      },
    }),
    alerts,
    diagnosis: (q) => ({ json: { diagnosis: diagnosis(q) } }),
    "execution/data": (q) => ({
      json: { ...range(q, numExecutions), executions: rows(q, numExecutions).map(executionData) },
    }),
    "graphs/op_info": (q) =>
      opInfo(q.get("graph_id") ?? "", q.get("op_name") ?? "", Number(q.get("at") ?? 0)),
    "graphs/graph_info": (q) => ({
      json: {
        name: q.get("graph_id")?.slice(2),
        graph_id: q.get("graph_id"),
        outer_graph_id: null,
        inner_graph_ids: [],
      },
    }),
    "stack_frames/stack_frames": (q) => {
      const frames = (q.get("stack_frame_ids") ?? "")
        .split(",")
        .map((id) => FRAMES[Number(id.slice(1))] ?? FRAMES[0]);
      return {
        json: {
          stack_frames: frames.map((f) => ["host", f?.[0], f?.[1], f?.[2]]),
          details: frames.map((f) => ({
            file_index: FILES.indexOf(f?.[0] ?? "") < 0 ? null : FILES.indexOf(f?.[0] ?? ""),
            text: f?.[3],
            origin: f?.[4],
          })),
        },
      };
    },
    "source_files/file": (q) => {
      const path = FILES[Number(q.get("index"))] ?? "";
      const lines = Array.from(
        { length: 120 },
        (_, i) =>
          FRAMES.find((f) => f[0] === path && f[1] === i + 1)?.[3] ??
          (i % 7 === 0 ? `def step_${i}(x):  # a line` : `    y = x * ${i}`),
      );
      return { json: { host_name: "host", file_path: path, lines } };
    },
    "columns/executions": (q) => {
      const wanted = q.get("function");
      const all = Array.from({ length: wanted === null ? 0 : numExecutions }, (_, i) => i);
      const called = all.filter((i) =>
        new RegExp(wanted ?? "").test(executionRow(i).graph_id?.slice(2) ?? ""),
      );
      const total = wanted === null ? numExecutions : called.length;
      const list = rows(q, total).map((row) => called[row] ?? row);
      const page = { generation, begin: range(q, 0).begin, total };
      return {
        bytes:
          wanted === null
            ? encodeColumns(EXECUTIONS, list.map(executionRow), page)
            : encodeColumns(
                { index: f64, ...EXECUTIONS },
                list.map((i) => ({ index: i, ...executionRow(i) })),
                page,
              ),
      };
    },
    find: (q) => ({ json: find((q.get("text") ?? "").toLowerCase(), Number(q.get("limit"))) }),
    "columns/graph_executions": (q) => {
      const only = q.get("only") === "bad";
      const host = q.get("host");
      if (q.has("op_name") || q.has("function")) return namedTraces(q);
      const total = only ? numBad : host === null ? numTraces : Math.ceil((numTraces - hostOf(host)) / 2);
      const at = (row: number) => (only ? badTrace(row) : host === null ? row : row * 2 + hostOf(host));
      const list = rows(q, total).map((row) => graphExecutionRow(at(row)));
      return { bytes: encodeColumns(TRACES, list, { generation, begin: range(q, 0).begin, total }) };
    },
    overview: (q) => ({
      json:
        q.get("list") === "executions"
          ? overview(numExecutions, Number(q.get("buckets")), (i) => executionRow(i).health === 2)
          : overview(numTraces, Number(q.get("buckets")), (i) => bad(counts(i))),
    }),
    locate: (q) => {
      const trace = Number(q.get("graph_execution"));
      if (q.has("graph_execution"))
        return {
          json: { execution_index: owner(trace), bad_before: before(trace), before: place(q, trace) },
        };
      const [step, call] = [
        Math.floor(Number(q.get("execution")) / CALLS.length),
        Number(q.get("execution")) % CALLS.length,
      ];
      const inside = call === 0 ? [0, 4] : call === 1 ? [4, perStep] : undefined;
      return {
        json: {
          graph_execution_begin: inside ? step * perStep + (inside[0] ?? 0) : null,
          graph_execution_end: inside ? step * perStep + (inside[1] ?? 0) : null,
        },
      };
    },
  };
  function namedTraces(q: URLSearchParams): Answer {
    const holds = (name: string, text: string) => new RegExp(q.get(name) ?? "").test(text);
    const chosen = Array.from({ length: numTraces }, (_, i) => i).filter(
      (i) =>
        holds("op_name", specAt(i).name) &&
        holds("function", specAt(i).graph) &&
        (q.get("health") !== "bad" || bad(counts(i))),
    );
    const list = rows(q, chosen.length).map((row) => graphExecutionRow(chosen[row] ?? 0));
    const page = { generation, begin: range(q, 0).begin, total: chosen.length };
    return { bytes: encodeColumns(TRACES, list, page) };
  }
  function before(trace: number): number {
    const step = Math.floor(trace / perStep);
    return step < illFrom
      ? 0
      : (step - illFrom) * badOps.length + badOps.filter((i) => i < trace % perStep).length;
  }
  function place(q: URLSearchParams, trace: number): number {
    const host = q.get("host");
    if (q.get("health") === "bad") return before(trace);
    if (q.has("function"))
      return Array.from({ length: trace }, (_, i) => i).filter((i) =>
        new RegExp(q.get("function") ?? "").test(specAt(i).graph),
      ).length;
    return host === null ? trace : Math.ceil((trace - hostOf(host)) / 2);
  }
  return (route: string, query: URLSearchParams): Answer =>
    answers[route]?.(query) ?? failed(`There is no route ${route}.`);
}

/** The number of a host; two hosts have the tensors in turn. */
function hostOf(name: string): number {
  return Number(name.slice(1));
}

function bad(counts: OpSpec["ill"] | undefined): boolean {
  return counts !== undefined && counts[0] + counts[4] + counts[5] > 0;
}

function range(query: URLSearchParams, total: number): { begin: number; end: number } {
  const end = Number(query.get("end") ?? -1);
  return { begin: Number(query.get("begin") ?? 0), end: end < 0 ? total : end };
}

function rows(query: URLSearchParams, total: number): number[] {
  const { begin, end } = range(query, total);
  return Array.from({ length: Math.max(0, Math.min(end, total) - begin) }, (_, i) => begin + i);
}

/** The answer of `find`, without layers and variables. */
function find(text: string, limit: number) {
  const [, tensor, slot] = /^(.+):(\d+)$/.exec(text) ?? [];
  const holding = (wanted: string) =>
    OPS.filter(({ name }) => name.toLowerCase().includes(wanted))
      .slice(0, limit)
      .map(({ name, type, graph }) => ({
        graph_id: `g-${graph}`,
        graph_name: graph,
        op_name: name,
        op_type: type,
      }));
  return {
    ops: holding(text),
    tensors: tensor === undefined ? [] : holding(tensor).map((op) => ({ ...op, output_slot: Number(slot) })),
    layers: [],
    variables: [],
    functions: ["model", "loss"]
      .filter((name) => name.includes(text))
      .map((name) => ({ graph_id: `g-${name}`, name })),
    files: FILES.map((file_path, index) => ({ index, file_path })).filter((f) => f.file_path.includes(text)),
    lines: FRAMES.filter(([path, , , line]) => FILES.includes(path) && line.includes(text)).map(
      ([path, line, , content]) => ({ index: FILES.indexOf(path), file_path: path, line, text: content }),
    ),
  };
}

function failed(error: string): Answer {
  return { json: { error }, status: 404 };
}
