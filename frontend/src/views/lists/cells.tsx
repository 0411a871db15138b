/** The cells of the lists, by column. */
import type { ComponentChildren } from "preact";
import { basename, clock, compact, grouped, significant } from "../../base/text";
import { displayName, shortDevice, tensorName } from "../../model/names";
import { roleWords } from "../../model/role";
import type { ExecutionRow, GraphExecutionRow, Verdict } from "../../model/rows";
import { mayHoldValue } from "../../model/values/value_ref";
import { ChangedTag } from "../changed_tag";
import { Counts, TensorName } from "../numbers";
import type { Of, Takes } from "../props";
import { ValueButton } from "../values/value_button";

type Uses = Takes<"inputGraphExecutions", never, typeof ChangedTag | typeof ValueButton>;
export type CellStore = Of<Uses>;

interface TextProps {
  readonly text: string | undefined;
  readonly title?: string | undefined;
  readonly look?: string;
}

/** A cell with a text, which is cut where it does not fit. */
export function Text({ text, title = text, look = "" }: TextProps) {
  return (
    <span role="gridcell" class={`ellipsis ${look}`} title={title}>
      {text}
    </span>
  );
}

/** A cell with a number. */
export function Num({
  text,
  title,
  look = "",
}: {
  text: ComponentChildren;
  title?: string | undefined;
  look?: string;
}) {
  return (
    <span role="gridcell" class={`num ellipsis ${look}`} title={title}>
      {text}
    </span>
  );
}

export const exact = (n: number | undefined) => (n === undefined ? undefined : String(n));
const measured = (n: number | undefined) => (n === undefined ? "" : significant(n));

export function Measured({ n }: { readonly n: number | undefined }) {
  return <Num text={measured(n)} title={exact(n)} />;
}

/** "path:line", of which the name of the file and the line are seen. */
export function Line({ line }: { readonly line: string | undefined }) {
  return <Ending text={line && basename(line)} title={line} look="" />;
}

export function Time({ seconds }: { readonly seconds: number | undefined }) {
  return (
    <Num
      text={seconds === undefined ? "" : clock(seconds)}
      title={seconds === undefined ? undefined : new Date(seconds * 1000).toISOString()}
      look="dim"
    />
  );
}

type Cells<R> = Readonly<Record<string, (row: R, store: CellStore) => ComponentChildren>>;

export const GRAPH_EXECUTION_CELLS: Cells<GraphExecutionRow> = {
  index: (row) => <Num text={row.index} look="dim" />,
  wall_time: (row) => <Time seconds={row.recorded.wallTime} />,
  tensor: (row, store) => <NameCell row={row} store={store} />,
  occurrence: ({ asked: { occurrence }, ...row }) => (
    <Num
      text={occurrence === undefined ? "" : grouped(occurrence + 1)}
      title={
        occurrence === undefined
          ? ""
          : `computation ${grouped(occurrence + 1)} of ${tensorName(row.opName, row.slot)}`
      }
    />
  ),
  layer: (row) => <LayerCell row={row} />,
  function: (row) => <Text text={row.functionName} look="dim" />,
  op_type: (row) => (
    <Text text={row.opType} title={[row.opType, shortDevice(row.device)].filter(Boolean).join(" on ")} />
  ),
  line: (row) => <Line line={row.recorded.line} />,
  slot: (row) => <Num text={row.slot} look="dim" />,
  device: (row) => <Text text={shortDevice(row.device)} title={row.device} look="dim" />,
  host: (row) => <Ending text={row.host} />,
  thread: (row) => <Text text={row.recorded.thread} look="dim" />,
  dtype: (row) => <Text text={row.summary.dtype} look="dim" />,
  rank: (row) => <Num text={row.summary.rank} look="dim" />,
  shape: (row) => <Text text={row.summary.shape} look="shape" />,
  size: ({ summary: { size } }) => (
    <Num
      text={size === undefined ? "" : compact(size)}
      title={size === undefined ? undefined : grouped(size)}
    />
  ),
  counts: (row) => <Counts summary={row.summary} />,
  min: (row) => <Measured n={row.summary.numerics?.min} />,
  max: (row) => <Measured n={row.summary.numerics?.max} />,
  mean: (row) => <Measured n={row.summary.numerics?.mean} />,
  std: (row) => <Measured n={row.asked.std} />,
  norm: (row) => <Measured n={row.asked.norm} />,
};

export const EXECUTION_CELLS: Cells<ExecutionRow> = {
  index: (row) => <Num text={row.index} look="dim" />,
  wall_time: (row) => <Time seconds={row.recorded.wallTime} />,
  op_type: (row) => (
    <span role="gridcell" class="ellipsis" title={row.opType}>
      {displayName(row.opType)} {row.isFunction && <span class="chip chip-function">function</span>}
    </span>
  ),
  line: (row) => <Line line={row.recorded.line} />,
  host: (row) => <Ending text={row.host} />,
  thread: (row) => <Text text={row.recorded.thread} look="dim" />,
  num_inputs: (row) => <Num text={row.numInputs} />,
  num_outputs: (row) => <Num text={row.numOutputs} />,
  health: (row) => <HealthCell health={row.health} />,
  call_health: (row) => (row.isFunction ? <HealthCell health={row.callHealth} /> : <Text text="" />),
};

/** A text whose end matters most: its beginning is cut. */
export function Ending({ text, title = text, look = "dim" }: TextProps) {
  return (
    <span role="gridcell" class={`ellipsis ellipsis-start ${look}`} title={title}>
      <bdi>{text}</bdi>
    </span>
  );
}

export const HEALTH_WORDS: Readonly<Record<Verdict, string>> = {
  bad: "NaN or ∞",
  good: "finite",
  unknown: "not measured",
};
export const HEALTH_LOOKS: Readonly<Record<Verdict, string>> = { bad: "bad", good: "good", unknown: "dim" };

function HealthCell({ health }: { readonly health: Verdict }) {
  return <Text text={HEALTH_WORDS[health]} look={HEALTH_LOOKS[health]} />;
}

function NameCell({ row, store }: { readonly row: GraphExecutionRow; readonly store: CellStore }) {
  const name = tensorName(row.opName, row.slot);
  const { gradientOf } = row.role;
  return (
    <span role="gridcell" class="name-cell">
      <TensorName name={name} />
      {mayHoldValue(row.summary) && (
        <ValueButton
          store={store}
          value={{ kind: "graph_execution", index: row.index }}
          name={name}
          isInList
        />
      )}
      {gradientOf.length > 0 && (
        <span class="tag tag-gradient" title={roleWords(row.opName, row.role)}>
          ∇ {gradientOf.join(", ")}
        </span>
      )}
      <ChangedTag store={store} of={{ graphExecution: row.index }} />
      {store.inputGraphExecutions.value.has(row.index) && <span class="tag">input</span>}
    </span>
  );
}

function LayerCell({ row }: { readonly row: GraphExecutionRow }) {
  const { layer } = row.role;
  const words = roleWords(row.opName, row.role) ?? "no layer";
  return (
    <Text
      text={layer ?? "–"}
      title={[words, row.functionName && `in ${row.functionName}`].filter(Boolean).join(" · ")}
      look={layer === undefined ? "dim" : ""}
    />
  );
}
