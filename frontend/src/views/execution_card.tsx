/** The execution in focus: its op or function, its inputs and outputs, and what ran inside a function. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ExecutionData, ExecutionInput, SessionRuns } from "../api/answers";
import { type ExecutionIndex, graphExecutionIndex } from "../base/ids";
import { shown } from "../base/loaded";
import { clock, compact, counted, grouped } from "../base/text";
import { fromWire, type Summary } from "../model/health";
import { displayName, isFunctionName, shortDevice, tensorName } from "../model/names";
import { knownInputs, outputSummaries, slotRanges } from "../model/neighbourhood";
import { mayHoldValue } from "../model/values/value_ref";
import { ChangedTag } from "./changed_tag";
import { TENSOR_ROW } from "./geometry";
import { CountHeads, Counts, NumericsWords } from "./numbers";
import { Button, Failure, Hint } from "./panel";
import type { Takes, With } from "./props";
import { StepNote } from "./steps";
import { ValueButton } from "./values/value_button";

type Uses = Takes<
  "calledGraph" | "execution" | "executionData" | "inside" | "sessionRuns" | "subject",
  "focusExecution" | "focusGraphExecution",
  typeof ChangedTag | typeof StepNote | typeof ValueButton
>;

/** Rows that are drawn above those in view, and below them. */
const NEAR = 16;
/** Longer lists of slots become their number. */
const LONGEST_SLOTS = 16;
/** Nested graphs that a hint names. */
const MOST_NAMED = 24;

export function ExecutionCard({ store }: With<Uses>) {
  const index = store.execution.value;
  const loaded = store.executionData.value;
  const data = shown(loaded);
  const runs = shown(store.sessionRuns.value);
  if (index === undefined && runs !== undefined && runs.num_session_runs > 0) return <Sessions runs={runs} />;
  if (index === undefined) return <Hint>Choose a box to see what ran, with its inputs and outputs.</Hint>;
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (data === undefined) return <Hint>Loading …</Hint>;
  return (
    <div class="card short pile grow" data-testid="execution-card" data-index={index}>
      <CardHead store={store} index={index} data={data} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and may have no link that takes the focus */}
      <section class="card-tables scroll short grow" tabIndex={0} aria-label="Inputs and outputs">
        <Inputs store={store} data={data} />
        <Outputs store={store} index={index} data={data} />
      </section>
    </div>
  );
}

/** The runs of TF1-style sessions: such a program runs no ops from Python, so that its timeline is empty. */
function Sessions({ runs }: { readonly runs: SessionRuns }) {
  const { session_runs: rows, num_session_runs: total, requests } = runs;
  const severalSessions = rows.some(({ session }) => session !== rows[0]?.session);
  return (
    <div class="card short pile grow" data-testid="session-runs">
      <div class="card-head line fixed nowrap">
        <b>{counted(total, "run of a session", "runs of sessions")}</b>
        {rows.length < total && <span class="dim">the last {grouped(rows.length)}</span>}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and nothing in it takes the focus */}
      <section class="card-tables scroll short grow" tabIndex={0} aria-label="Runs of sessions">
        <table class="card-table">
          <thead>
            <tr>
              {severalSessions && <th scope="col">session</th>}
              <th scope="col">run</th>
              <th scope="col">fetches and targets</th>
              <th scope="col">feeds</th>
              <th scope="col">began</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <SessionRun
                key={`${row.session}/${row.run}`}
                row={row}
                asked={requests[row.request ?? -1]}
                session={severalSessions ? row.session : undefined}
              />
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

interface SessionRunProps {
  readonly row: SessionRuns["session_runs"][number];
  readonly asked: SessionRuns["requests"][number] | undefined;
  readonly session: number | undefined;
}

function SessionRun({ row: { run, begin_time, error }, asked, session }: SessionRunProps) {
  const { fetches = [], targets = [], feeds = [] } = asked ?? {};
  return (
    <tr data-testid="session-run">
      {session !== undefined && <td class="num">{session}</td>}
      <td class="num">{run}</td>
      <td title={error}>
        {[...fetches, ...targets].join(", ")}
        {error !== undefined && " · failed"}
      </td>
      <td>{feeds.map(({ name }) => name).join(", ")}</td>
      <td class="num">{clock(begin_time)}</td>
    </tr>
  );
}

function CardHead({ store, index, data }: With<Uses, { index: ExecutionIndex; data: ExecutionData }>) {
  const isFunction = isFunctionName(data.op_type) || Boolean(data.graph_id);
  const device = data.device_names.find((name) => name !== undefined);
  return (
    <div class="card-head line fixed nowrap">
      <span class="num dim">#{index}</span>
      <b class={isFunction ? "chip chip-function" : "chip"} title={data.op_type}>
        {displayName(data.op_type)}
      </b>
      <span class="dim">{isFunction ? "function call" : "eager op"}</span>
      <ChangedTag store={store} of={{ execution: index }} />
      {store.subject.value === "execution" && <StepNote store={store} />}
      <Inside store={store} />
      <span class="card-facts cut grow dim">
        {[clock(data.wall_time), shortDevice(device), data.host_name].filter(Boolean).join(" · ")}
      </span>
      {store.subject.value !== "execution" && (
        <Button
          class="small"
          title="Stack trace, source and neighbours of this execution"
          act={() => store.focusExecution(index)}
          text="Show its stack"
        />
      )}
    </div>
  );
}

/** The graph of a function, the graphs nested in it, and a button that leads to what ran inside. */
function Inside({ store }: With<Uses>) {
  const graph = shown(store.calledGraph.value);
  const nested = graph?.inner_graph_ids ?? [];
  const located = shown(store.inside.value);
  const [begin, end] = [located?.graph_execution_begin, located?.graph_execution_end];
  const names = nested.slice(0, MOST_NAMED).map((id, i) => graph?.inner_graph_names[i] ?? id);
  return (
    <>
      {graph?.name !== undefined && store.executionData.value?.kind === "ready" && (
        <span
          class="dim ellipsis"
          title={names.length === 0 ? graph.graph_id : `Inside it: ${names.join(", ")}`}
        >
          graph <code>{graph.name}</code>
          {nested.length > 0 && ` with ${counted(nested.length, "nested graph")}`}
        </span>
      )}
      {begin !== undefined && end !== undefined && end > begin && (
        <Button class="small" act={() => void store.focusGraphExecution(graphExecutionIndex(begin))}>
          Go to the {counted(end - begin, "tensor")} inside
        </Button>
      )}
    </>
  );
}

function Inputs({ store, data }: With<Uses, { data: ExecutionData }>) {
  const inputs = data.inputs.length > 0 ? data.inputs : data.input_tensor_ids.map(unknownInput);
  const { known, unknown } = knownInputs(inputs);
  const slots = slotRanges(unknown);
  const rows = known.length + Math.min(unknown.length, 1);
  const row = ([slot, input]: (typeof known)[number], at: number) => (
    <TableRow key={slot} at={at} slots={`:${slot}`} summary={fromWire(input.health)}>
      <InputOrigin store={store} input={input} />
    </TableRow>
  );
  return (
    <div class="slim" role="table" aria-label="Inputs" aria-rowcount={rows + 1}>
      <TableHead title={counted(inputs.length, "input")} />
      <NearRows rows={known} draw={row} />
      {unknown.length > 0 && (
        <TableRow
          at={known.length}
          slots={slots.length > LONGEST_SLOTS ? counted(unknown.length, "input") : slots}
          summary={undefined}
        >
          <span class="dim ellipsis" title={`${slots}: not made by a recorded op, not measured`}>
            not made by a recorded op
          </span>
        </TableRow>
      )}
    </div>
  );
}

function InputOrigin({ store, input }: With<Uses, { input: ExecutionInput }>) {
  const from = input.execution_index;
  if (from === undefined) return <span class="dim ellipsis">not made by a recorded op</span>;
  return (
    <Button
      class="link ellipsis"
      title="Go to the execution that made it"
      act={() => store.focusExecution(from)}
    >
      #{from} {displayName(input.op_type ?? "")}:{input.output_slot ?? 0}
    </Button>
  );
}

function unknownInput(tensorId: number): ExecutionInput {
  return {
    tensor_id: tensorId,
    execution_index: undefined,
    output_slot: undefined,
    op_type: undefined,
    health: undefined,
  };
}

function Outputs({ store, index, data }: With<Uses, { index: ExecutionIndex; data: ExecutionData }>) {
  const outputs = outputSummaries(data);
  const row = (summary: Summary, slot: number) => (
    <TableRow key={slot} at={slot} slots={`:${slot}`} summary={summary}>
      <span class="dim ellipsis">{shapeWords(summary)}</span>
      {mayHoldValue(summary) && (
        <ValueButton
          store={store}
          value={{ kind: "execution", index, slot }}
          name={tensorName(displayName(data.op_type), slot)}
        />
      )}
      <NumericsWords summary={summary} />
    </TableRow>
  );
  return (
    <div class="slim" role="table" aria-label="Outputs" aria-rowcount={outputs.length + 1}>
      <TableHead title={counted(outputs.length, "output")} />
      <NearRows rows={outputs} draw={row} />
    </div>
  );
}

interface NearRowsProps<R> {
  readonly rows: readonly R[];
  readonly draw: (row: R, at: number) => preact.ComponentChildren;
}

/** Of many rows, those that are in view or near it: a training step has a thousand inputs. */
function NearRows<R>({ rows, draw }: NearRowsProps<R>) {
  const box = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState({ begin: 0, end: 2 * NEAR });
  useEffect(() => {
    const scroller = box.current?.closest(".card-tables");
    if (!scroller) return;
    const look = () => {
      if (box.current === null) return;
      const above = scroller.getBoundingClientRect().top - box.current.getBoundingClientRect().top;
      const first = Math.floor(above / TENSOR_ROW / NEAR) * NEAR;
      const begin = Math.max(0, first - NEAR);
      const end = first + Math.ceil(scroller.clientHeight / TENSOR_ROW / NEAR) * NEAR + 2 * NEAR;
      setNear((old) => (old.begin === begin && old.end === end ? old : { begin, end }));
    };
    scroller.addEventListener("scroll", look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(scroller);
    return () => {
      scroller.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, []);
  const end = Math.min(rows.length, Math.max(near.end, 0));
  const begin = Math.min(near.begin, end);
  const [above, below] = [begin, rows.length - end].map((n) => `${n * TENSOR_ROW}px`);
  return (
    <div ref={box} role="rowgroup" style={{ paddingTop: above, paddingBottom: below }}>
      {rows.slice(begin, end).map((row, i) => draw(row, begin + i))}
    </div>
  );
}

function TableHead({ title }: { readonly title: string }) {
  return (
    <div class="tensor-row level tensor-head dim ruled" role="row" aria-rowindex={1}>
      <span role="columnheader">{title}</span>
      <span role="columnheader">size</span>
      <CountHeads />
    </div>
  );
}

interface RowProps {
  /** Its place below the head. */
  readonly at: number;
  readonly slots: string;
  readonly summary: Summary | undefined;
  readonly children: preact.ComponentChildren;
}

function TableRow({ at, slots, summary, children }: RowProps) {
  return (
    <div class="tensor-row level" role="row" aria-rowindex={at + 2}>
      <span role="cell" class="tensor-what slim nowrap">
        <span class="num dim">{slots}</span>
        {children}
      </span>
      <span role="cell" class="num" title={summary?.size === undefined ? undefined : grouped(summary.size)}>
        {summary?.size === undefined ? "–" : compact(summary.size)}
      </span>
      <Counts summary={summary ?? { counts: {} }} />
    </div>
  );
}

function shapeWords({ dtype, shape, rank }: Summary): string {
  const rankWords = rank === undefined ? undefined : `rank ${rank}`;
  return [dtype ?? "", shape ?? rankWords ?? ""].join(" ").trim() || "not measured";
}
