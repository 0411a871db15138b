/** The routes of docs/http-api.md that the page uses, one function each. */
import type * as ids from "../base/ids";
import * as answers from "./answers";
import { list, object, record, text, tuple } from "./check";
import { type ColumnPage, decodeColumns, numberAt } from "./columns";
import { comparisonRoutes } from "./comparison";
import { curveRoutes } from "./curves";
import { address, type Client } from "./fetch";
import { liveRoutes } from "./live";
import { ruleRoutes } from "./rules";
import { valueRoutes } from "./values";

/** The parameters of a filter and an order of rows; see model/filters.ts. */
export type RowParams = Readonly<Record<string, string>>;

/** A filter for rows by the names of their ops and graphs, as regular expressions. */
export interface Named {
  readonly op_name?: string | undefined;
  readonly op_type?: string | undefined;
  /** The graph that the op is in, or that the execution ran. */
  readonly function?: string | undefined;
  readonly health?: "bad" | undefined;
  readonly step?: string | undefined;
}

/** Rows in the order of their times, the latest first. */
export interface Order {
  readonly sort: "wall_time";
  readonly descending: "true";
}

/** A window of the timeline on its axis. */
interface TimelineWindow {
  readonly begin: number;
  readonly end: number;
}

/** The execution or the op that is explained. */
export type DiagnosisSubject =
  | { readonly execution: ids.ExecutionIndex }
  | {
      readonly graph_id: ids.GraphId;
      readonly op_name: string;
      readonly at: ids.GraphExecutionIndex | undefined;
    };

/** Which ops around an op are asked for. */
export interface NearOf {
  readonly graph: ids.GraphId;
  readonly opName: string;
  readonly at: ids.GraphExecutionIndex | undefined;
  readonly hops: number;
  readonly limit: number;
}

/** How a whole graph is asked for. */
export interface OverviewOf {
  readonly graph: ids.GraphId;
  readonly by: "layer" | "scope";
  /** The names of the parts that are open. */
  readonly opened: readonly string[];
  /** The names of ops whose parts are asked for. */
  readonly ops: readonly string[];
  /** Tensors after it do not count. */
  readonly at: ids.GraphExecutionIndex | undefined;
}

/** The name of one of the two long lists. */
export type ListName = "executions" | "graph_executions";

/** The lists of things that a run may have, in the order in which they are offered. */
export const KINDS = [
  ...(["ops", "functions", "variables", "layers", "session_runs", "op_types", "lines"] as const),
  ...(["processes", "devices", "dtypes", "threads"] as const),
] as const;
export type Kind = (typeof KINDS)[number];

/** A long list, or a list of things. */
export type AnyList = ListName | Kind;

export type Api = ReturnType<typeof makeApi>;

export function makeApi(client: Client) {
  return {
    ...runRoutes(client),
    ...listRoutes(client),
    ...tableRoutes(client),
    ...locateRoutes(client),
    ...detailRoutes(client),
    ...sourceRoutes(client),
    ...valueRoutes(client),
    ...liveRoutes(client),
    ...ruleRoutes(client),
    ...comparisonRoutes(client),
    ...curveRoutes(client),
  };
}

/** Answers about a run as a whole. */
function runRoutes(client: Client) {
  return {
    runs: () => client.json("runs", {}, record(answers.run)),
    logdir: () => client.json("logdir", {}, answers.logdir),
    /** The note on a run, and why it cannot be changed. */
    note: (run: ids.RunName, signal?: AbortSignal) => client.json("note", { run }, answers.note, signal),
    writeNote: (run: ids.RunName, note: string, insteadOf: string) =>
      client.post("note/write", { run, note, instead_of: insteadOf }, object({ file: text })),
    status: (run: ids.RunName) => client.json("status", { run }, answers.status),
    /** Asks the alert rules if no value is bad, which takes seconds in a long run. */
    verdict: (run: ids.RunName, signal?: AbortSignal) =>
      client.json("verdict", { run }, answers.runVerdict, signal),
    /** Without a subject, the first cause is explained. */
    diagnosis: async (run: ids.RunName, subject: DiagnosisSubject | undefined, signal?: AbortSignal) =>
      (await client.json("diagnosis", { run, ...subject }, answers.explained, signal)).diagnosis,
    /** The most important origin first. */
    origins: async (run: ids.RunName, signal?: AbortSignal) =>
      (await client.json("origins", { run }, answers.origins, signal)).origins,
    /** Runs the first kept call again, which takes seconds; says what came of it. */
    replay: async (run: ids.RunName) =>
      (await client.post("replay", { run }, object({ tried: list(text) }))).tried,
    find: (run: ids.RunName, text: string, limit: number, signal?: AbortSignal) =>
      client.json("find", { run, text, limit }, answers.found, signal),
    /** The lines of source files with a text, and no other kinds. */
    findLines: (run: ids.RunName, text: string, limit: number, signal?: AbortSignal) =>
      client.json("find", { run, text, limit, kinds: "lines" }, answers.found, signal),
    overview: (run: ids.RunName, name: ListName, buckets: number, signal?: AbortSignal) =>
      client.json("overview", { run, list: name, buckets }, answers.overview, signal),
    steps: (run: ids.RunName, bins: number, signal?: AbortSignal) =>
      client.json("steps", { run, bins }, answers.steps, signal),
    /** What ran in each thread in a window; without one, in the whole run. */
    timeline: (run: ids.RunName, axis: string, bins: number, window?: TimelineWindow, signal?: AbortSignal) =>
      client.json("timeline", { run, axis, bins, ...window }, answers.timeline, signal),
    extremes: (run: ids.RunName, signal?: AbortSignal) =>
      client.json("extremes", { run }, answers.extremes, signal),
  };
}

/** Ranges of the long lists. */
function listRoutes(client: Client) {
  const columns = async (
    list: ListName | "inventory",
    params: Record<string, string | number | undefined>,
  ): Promise<ColumnPage> => decodeColumns(await client.bytes(`columns/${list}`, params));
  return {
    alerts: (run: ids.RunName, begin: number, end: number, alertType?: string) =>
      client.json("alerts", { run, begin, end, alert_type: alertType }, answers.alerts),
    executionRows: (run: ids.RunName, begin: number, end: number, params: RowParams = {}) =>
      columns("executions", { run, begin, end, ...params }),
    graphExecutionRows: (
      run: ids.RunName,
      begin: number,
      end: number,
      onlyBad: boolean,
      params: RowParams = {},
    ) => columns("graph_executions", { run, begin, end, only: onlyBad ? "bad" : undefined, ...params }),
    /** The things of a kind, with what is on record of each. */
    things: (run: ids.RunName, kind: Kind, begin: number, end: number, params: RowParams) =>
      columns("inventory", { run, kind, begin, end, ...params }),
    /** The last runs of TF1-style sessions. */
    sessionRuns: async (run: ids.RunName, most: number, signal?: AbortSignal) => {
      const ask = (begin: number, end: number) =>
        client.json("session_runs", { run, begin, end }, answers.sessionRuns, signal);
      const { num_session_runs: total } = await ask(0, 0);
      return ask(Math.max(0, total - most), total);
    },
    /** The position of the last execution whose op type matches; undefined when there is none. */
    lastExecution: async (run: ids.RunName, opType: string) => {
      const newest = { sort: "wall_time", descending: "true", begin: 0, end: 1 };
      const page = await columns("executions", { run, op_type: opType, ...newest });
      return page.end > page.begin ? numberAt(page, "index", 0) : undefined;
    },
    /** The ops of all graphs from a position on, as many as the server gives at once. */
    opColumns: async (run: ids.RunName, begin: number) =>
      decodeColumns(await client.bytes("graphs/ops", { run, begin })),
    namedRows: (run: ids.RunName, name: ListName, begin: number, end: number, named: Named, order?: Order) =>
      columns(name, { run, begin, end, ...named, ...order }),
  };
}

/** The rows of a list as text. */
function tableRoutes(client: Client) {
  return {
    /** The first rows as text, with tabs between the columns. */
    rowsAsText: async (
      run: ids.RunName,
      list: AnyList,
      columns: readonly string[],
      limit: number,
      params: RowParams,
    ) => {
      const asked = { run, list, columns: columns.join(","), limit, format: "tsv", ...params };
      return new TextDecoder().decode(await client.bytes("export", asked));
    },
  };
}

/** The address of a file with the rows of a list; without names of columns, with all of them. */
export function exportAddress(
  run: ids.RunName,
  list: AnyList,
  columns: readonly string[] | undefined,
  format: "csv" | "parquet",
  params: RowParams,
): string {
  return address("export", { run, list, columns: columns?.join(","), format, ...params });
}

/** The address of the report of a run. */
export function reportAddress(run: ids.RunName, format: "html" | "markdown"): string {
  return address("report", { run, format });
}

/** Positions of rows in other lists. */
function locateRoutes(client: Client) {
  const locate = (params: Record<string, string | number | undefined>, signal?: AbortSignal) =>
    client.json("locate", params, answers.located, signal);
  return {
    locateExecution: (run: ids.RunName, i: ids.ExecutionIndex, signal?: AbortSignal) =>
      locate({ run, execution: i }, signal),
    locateGraphExecution: (
      run: ids.RunName,
      i: ids.GraphExecutionIndex,
      onlyBad: boolean,
      params: RowParams,
      signal?: AbortSignal,
    ) => locate({ run, graph_execution: i, ...(onlyBad && { health: "bad" }), ...params }, signal),
    /** `before` is the number of graph executions with these names before one. */
    locateNamed: (run: ids.RunName, i: ids.GraphExecutionIndex, named: Named) =>
      locate({ run, graph_execution: i, ...named }),
  };
}

/** One execution, op or graph. */
function detailRoutes(client: Client) {
  return {
    execution: async (run: ids.RunName, i: ids.ExecutionIndex, signal?: AbortSignal) => {
      const range = { run, begin: i, end: i + 1 };
      const { executions } = await client.json("execution/data", range, answers.executions, signal);
      if (executions[0] === undefined) throw new Error(`There is no execution ${i}.`);
      return executions[0];
    },
    op: (
      run: ids.RunName,
      graphId: ids.GraphId,
      name: string,
      at: ids.GraphExecutionIndex | undefined,
      signal?: AbortSignal,
    ) => client.json("graphs/op_info", { run, graph_id: graphId, op_name: name, at }, answers.opInfo, signal),
    /** The ops some hops around an op, up to a limit. */
    neighbours: (run: ids.RunName, { graph, opName, at, hops, limit }: NearOf, signal?: AbortSignal) => {
      const asked = { run, graph_id: graph, op_name: opName, at, hops, limit };
      return client.json("neighbours", asked, answers.neighbours, signal);
    },
    graphOverview: (run: ids.RunName, { graph, by, opened, ops, at }: OverviewOf, signal?: AbortSignal) => {
      const asked = { run, graph_id: graph, by, open: opened.join(","), ops: ops.join(","), at };
      return client.json("graphs/overview", asked, answers.graphOverview, signal);
    },
    graph: (run: ids.RunName, graphId: ids.GraphId, signal?: AbortSignal) =>
      client.json("graphs/graph_info", { run, graph_id: graphId }, answers.graphInfo, signal),
  };
}

/** Stacks and source files. */
function sourceRoutes(client: Client) {
  return {
    frames: (run: ids.RunName, frameIds: readonly ids.FrameId[], signal?: AbortSignal) => {
      const params = { run, stack_frame_ids: frameIds.join(",") };
      return client.json("stack_frames/stack_frames", params, answers.frames, signal);
    },
    /** Host and path of each recorded source file, in the order of their positions. */
    sourceFiles: (run: ids.RunName, signal?: AbortSignal) =>
      client.json("source_files/list", { run }, list(tuple(text, text)), signal),
    /** What each line of a source file made and ran; lines without any are left out. */
    sourceOps: async (run: ids.RunName, index: ids.FileIndex, signal?: AbortSignal) =>
      (await client.json("source_files/ops", { run, index }, answers.sourceOps, signal)).lines,
    /** All source files with what they made, the program's own first. */
    sourceCounts: async (run: ids.RunName, signal?: AbortSignal) =>
      (await client.json("source_files/counts", { run }, answers.sourceCounts, signal)).files,
    source: (run: ids.RunName, index: ids.FileIndex, signal?: AbortSignal) =>
      client.json("source_files/file", { run, index }, answers.sourceFile, signal),
  };
}
