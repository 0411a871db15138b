/** The ops that the listed line made, below the code; choosing one focuses it. */
import type { LineOp, LineOps } from "../../api/answers";
import { counted } from "../../base/text";
import { displayName } from "../../model/names";
import { fileName, madeWords, SIGNS, signOf, tensorWords } from "../../model/source_files";
import { useChange } from "../hooks";
import { Button, IconButton } from "../panel";
import type { With } from "../props";
import { moveInList } from "./move_in_list";

type Uses = "files.cells" | "files.closeLine" | "jump" | "op" | "sourceLine" | "subject";

interface Props extends With<Uses> {
  readonly made: LineOps;
  /** Called when the list has its place, which the code then does not have. */
  readonly drawn: () => void;
  /** Gives the keyboard back to the code. */
  readonly leave: () => void;
}

export function LineOpsList({ store, made, drawn, leave }: Props) {
  useChange(drawn, [made.line]);
  const name = `${fileName(store.sourceLine.value?.path ?? "", store.files.cells.value)}:${made.line}`;
  const close = () => {
    store.files.closeLine();
    leave();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else moveInList(event);
  };
  const left = made.num_ops - made.ops.length;
  return (
    <section class="line-ops pile fixed" aria-label={`What ${name} made`} data-testid="line-ops">
      <header class="line-ops-head line raised">
        <b class="fixed">{name}</b>
        <span class="grow cut nowrap dim" title={madeWords(made)}>
          {madeWords(made)}
        </span>
        <IconButton label="Show all rows again" text="×" act={close} testId="line-ops-close" />
      </header>
      <ul class="scroll short" onKeyDown={onKey}>
        {made.ops.map((op) => (
          <Op key={`${op.graph_id} ${op.op_name}`} store={store} op={op} />
        ))}
        {left > 0 && <li class="source-row dim">and {counted(left, "other op")}, in the list above</li>}
        {made.num_ops === 0 && <li class="source-row dim">Its calls are in the list of executions above.</li>}
      </ul>
    </section>
  );
}

function Op({ store, op }: With<"jump" | "op" | "subject", { op: LineOp }>) {
  const { graph_id: graph, graph_name: graphName, op_name: opName, op_type, health } = op;
  const focused = store.subject.value === "op" ? store.op.value : undefined;
  const isFocused = focused?.graph === graph && focused.opName === opName;
  const sign = signOf(health);
  return (
    <li>
      <Button
        class="source-row line"
        aria-current={isFocused ? "true" : undefined}
        title={graphName === undefined ? opName : `${opName} in ${displayName(graphName)}`}
        testId="line-op"
        act={() => void store.jump({ kind: "op", graph, graphName, opName, slot: undefined })}
      >
        <span class={`sign sign-${sign}`} aria-hidden="true">
          {SIGNS[sign]}
        </span>
        <span class="op-name ellipsis ellipsis-start slim">
          <bdi>{opName}</bdi>
        </span>
        {op_type !== undefined && op_type !== opName && <span class="op-type dim ellipsis">{op_type}</span>}
        <span class={`source-counts nowrap ${sign === "bad" ? "bad" : "dim"}`}>{tensorWords(op)}</span>
      </Button>
    </li>
  );
}
