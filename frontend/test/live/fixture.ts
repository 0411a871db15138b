/** Programs that run, as the server answers them: a state and a program with overrides, and a fake server. */

import type { Fetch, Keys } from "../../src/api/fetch";
import type { Call, LivePrograms, LiveTensor, Pause, ProgramState } from "../../src/api/live";
import { breakpointNumber, graphId, liveTensorNumber, programId, runName } from "../../src/base/ids";
import { place } from "../../src/model/live/places";
import { makeFixture } from "../fixture/fixture";
import { asked, response } from "../open_store";

export const call = (over: Partial<Call> = {}): Call => ({
  number: 0,
  kind: "function",
  name: "__inference_train_step_12",
  feeds: [],
  fetches: [],
  targets: [],
  thread: "MainThread",
  is_over: false,
  is_held: false,
  stack: [],
  path: "/home/user/train.py",
  line: 71,
  ...over,
});

export const tensor = (over: Partial<LiveTensor> = {}): LiveTensor => ({
  number: liveTensorNumber(7),
  graph_id: graphId("g-loss"),
  op_name: "Log",
  slot: 0,
  op_type: "Log",
  dtype: 1,
  shape: [100, 10],
  device: "/device:CPU:0",
  occurrence: 1,
  numbers: [],
  has_value: true,
  no_value: "",
  text: "",
  path: "/home/user/losses.py",
  line: 14,
  function: "__inference_loss_456",
  layer: "",
  was_changed: false,
  unknown_shape: false,
  ...over,
});

export const pause = (over: Partial<Pause> = {}): Pause => ({
  reason: "before_call",
  sentence: "",
  breakpoint: breakpointNumber(0),
  tensor: undefined,
  number: 1,
  can_change: false,
  cannot_change: "",
  held_threads: 0,
  others_may_have_passed: false,
  wall_time: 0,
  is_recorded: true,
  failed: undefined,
  inputs: [],
  path: "",
  line: 0,
  stack: [],
  ...over,
});

export const state = (over: Partial<ProgramState> = {}): ProgramState => ({
  version: 1,
  phase: "paused",
  call: call(),
  pause: over.phase === undefined || over.phase === "paused" ? pause() : undefined,
  breakpoints: [],
  read_only: false,
  may_change_values: false,
  followers: 1,
  doing: "",
  calls_left: 0,
  watched: [],
  notices: [],
  calls: [],
  held_bytes: 0,
  max_held_bytes: 0,
  dropped_values: 0,
  running: [],
  ...over,
});

export type Program = LivePrograms["programs"][number];

export const program = (over: Partial<Program> = {}, now: Partial<ProgramState> = {}): Program => ({
  id: programId("p1"),
  run: runName("digits/first"),
  host: "host7",
  pid: 4711,
  program: ["train.py", "--steps", "5"],
  started: 1,
  problem: undefined,
  state: state(now),
  ...over,
});

export const breakpoint = (where: Parameters<typeof place>[0], over = {}) => ({
  number: breakpointNumber(1),
  where: place(where),
  condition: "",
  ignore: 0,
  enabled: true,
  label: "",
  hits: 0,
  num_tensors: 1,
  problem: "",
  note: "",
  first_only: false,
  log_only: false,
  logged: [],
  ...over,
});

/** The key of the server. */
export const KEY = "the-key";
/** A tab that has it. */
export const KEYS: Keys = { current: () => KEY, ask: async () => undefined };

/** A server with a recorded run and programs; each long poll waits until `change`. */
export class LiveServer {
  programs: Program[] = [program()];
  version = 1;
  readOnly = false;
  /** Bodies and headers of the POSTs so far, and how they are answered. */
  readonly posted: {
    url: string;
    body: Record<string, unknown>;
    headers: Readonly<Record<string, string>>;
  }[] = [];
  outcome: () => Record<string, unknown> = () => ({ done: true, sentence: "", breakpoint: 0, state: null });
  polls = 0;
  /** Whether the server knows what is on record at a pause, whether it has read all of it, and how often it said so. */
  hasPaused = true;
  isComplete = true;
  questions = 0;
  /** When it is said. */
  held = Promise.resolve();
  /** The other routes that were asked. */
  readonly routes: string[] = [];
  down = false;
  #wake: (() => void)[] = [];
  readonly #recorded = makeFixture({ steps: 8, illFrom: 99, generation: 1 });

  /** Replaces the programs and answers the requests that wait. */
  change(programs: Program[]): void {
    this.programs = programs;
    this.version++;
    for (const wake of this.#wake.splice(0)) wake();
  }

  readonly fetch: Fetch = async (url, init) => {
    const [route, searchParams] = asked(url);
    if (init.method === "POST") {
      if (init.headers?.["X-TB-Debugger-Key"] !== KEY)
        return Response.json({ error: "No.", needs_key: true }, { status: 403 });
      this.posted.push({ url: route, body: JSON.parse(init.body ?? "{}"), headers: init.headers ?? {} });
      return Response.json(this.outcome());
    }
    if (route === "live/paused") {
      this.questions++;
      await this.held;
      return this.#paused(searchParams);
    }
    if (route === "live/programs") return this.#follow(searchParams.get("since"), init.signal);
    this.routes.push(route);
    return response(this.#recorded(route, searchParams));
  };

  #paused(query: URLSearchParams): Response {
    const { run, state: now } = this.programs.find(({ id }) => id === query.get("program")) ?? {};
    const at = now?.pause?.tensor;
    if (!this.hasPaused || now?.pause?.number !== Number(query.get("pause")))
      return Response.json({ error: "It has gone on." }, { status: 404 });
    const ask = (route: string, params: Record<string, string>) => {
      const found = this.#recorded(route, new URLSearchParams({ run: run ?? "", ...params }));
      return "bytes" in found ? null : (found.json as Record<string, never>);
    };
    const named = { graph_id: at?.graph_id ?? "", op_name: at?.op_name ?? "" };
    const newest = ask("graphs/op_info", named)?.outputs?.[0]?.["health"]?.["graph_execution_index"] ?? null;
    const info = newest === null ? null : ask("graphs/op_info", { ...named, at: String(newest) });
    const op = info === null ? null : { graph_execution: newest, owner: null, info };
    return Response.json({ run, is_complete: this.isComplete, status: ask("status", {}), op });
  }

  async #follow(since: string | null, signal: AbortSignal | undefined): Promise<Response> {
    this.polls++;
    if (this.down) throw new TypeError("down");
    if (since === String(this.version))
      await new Promise<void>((resolve, reject) => {
        this.#wake.push(resolve);
        signal?.addEventListener("abort", () => reject(new Error("aborted")));
      });
    const { version, readOnly: read_only, programs } = this;
    const why_read_only = read_only ? "This viewer is read-only." : "";
    return Response.json({ version, read_only, why_read_only, programs });
  }
}
