/** The op in focus between its inputs and the consumers of its outputs. */
import { useRef } from "preact/hooks";
import { shown } from "../base/loaded";
import { canMove } from "../model/history";
import { displayName, isFunctionName } from "../model/names";
import { ChainStrip } from "./chain";
import { NO_SIZE } from "./hooks";
import { Button, Failure, Hint, IconButton, Panel } from "./panel";
import { Picture } from "./picture";
import type { Takes, With } from "./props";

type Uses = Takes<
  "execution" | "executionData" | "history" | "neighbourhood" | "op" | "opInfo" | "subject",
  "back" | "dock.show" | "forward",
  typeof ChainStrip | typeof Picture
>;

export function GraphStructure({ store }: With<Uses>) {
  const loaded = store.neighbourhood.value;
  const op = shown(loaded);
  const size = useRef(NO_SIZE);
  return (
    <Panel
      title="Graph structure"
      className="structure"
      note={<Breadcrumb store={store} />}
      tools={<Tools store={store} />}
    >
      <ChainStrip store={store} />
      {loaded?.kind === "failed" ? (
        <Failure message={loaded.message} />
      ) : op === undefined ? (
        <Hint>
          {loaded === undefined
            ? "Choose a tensor in the graph executions to see what its op takes and gives."
            : "Loading …"}
        </Hint>
      ) : (
        <Picture key={op.key} store={store} op={op} size={size} />
      )}
    </Panel>
  );
}

function Breadcrumb({ store }: With<Uses>) {
  if (store.subject.value === "execution") {
    const data = shown(store.executionData.value);
    if (data === undefined) return null;
    return <span>{isFunctionName(data.op_type) ? "called from Python" : "run eagerly"}</span>;
  }
  const info = shown(store.opInfo.value);
  const all = (info?.graph_ids ?? []).map((id, i) => ({ id, name: info?.graph_names[i] }));
  // In recordings of TensorFlow itself, the outermost graph has no name.
  const graphs = all.filter(({ name }, i) => name !== undefined || i === all.length - 1);
  const text = graphs
    .map(({ name, id }) => (name === undefined ? id.slice(0, 8) : displayName(name)))
    .join(" › ");
  return <span title={text}>{text}</span>;
}

function Tools({ store }: With<Uses>) {
  const history = store.history.value;
  const isInGraph = store.subject.value === "op" && store.op.value !== undefined;
  return (
    <div class="tools">
      {isInGraph && (
        <Button
          class="small"
          title="Show the graph around the op, some hops in both directions"
          testId="graph-structure-graph"
          act={() => store.dock.show("graph")}
          text="Graph"
        />
      )}
      <IconButton label="Back to the op before" text="←" off={!canMove(history, -1)} act={store.back} />
      <IconButton label="Forward again" text="→" off={!canMove(history, 1)} act={store.forward} />
    </div>
  );
}
