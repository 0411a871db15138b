/** The ops of the program as a tree by scope, layer or device, with boxes that set breakpoints. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { counted, grouped } from "../../base/text";
import { filteredOps, type ListedOp } from "../../model/live/op_list";
import { boxState, type Marks, marksOf } from "../../model/live/op_marks";
import {
  firstOpen,
  type Grouping,
  type OpTree,
  opTree,
  type TreeRow,
  treeRows,
} from "../../model/live/op_tree";
import { mayEdit } from "../../model/live/program";
import { expressionOf } from "../../model/live/tensor_rows";
import { shortDevice } from "../../model/names";
import { Choice, optionsOf } from "../choice";
import { GRAPH_EXECUTION_ROW } from "../geometry";
import { Failure, Hint } from "../panel";
import type { Of, With } from "../props";
import { type RowAttributes, VirtualList } from "../virtual_list";
import { NameFilterFields } from "./name_filter";

type Uses = "live" | "livePanel";

const WORDS: Readonly<Record<Grouping, string>> = { scope: "Scope", layer: "Layer", device: "Device" };

export function OpsTools({ store }: With<Uses>) {
  const panel = store.livePanel;
  return (
    <>
      <label class="lp-label">
        by{" "}
        <Choice
          options={optionsOf(WORDS)}
          value={panel.grouping.value}
          choose={panel.setGrouping}
          label="Group ops by"
          testId="ops-grouping"
        />
      </label>
      <NameFilterFields what="ops" filter={panel.opFilter.value} set={panel.setOpFilter} />
    </>
  );
}

export function OpsNote({ store }: With<Uses>) {
  const ops = store.livePanel.ops.value;
  if (ops?.kind !== "ready") return null;
  const shown = filteredOps(ops.value, store.livePanel.opFilter.value).length;
  const refusal = store.livePanel.boxRefusal.value;
  if (refusal !== undefined)
    return (
      <span class="warning" role="alert">
        {refusal}
      </span>
    );
  const all = counted(ops.value.length, "op");
  return <span>{shown === ops.value.length ? all : `${grouped(shown)} of ${all}`}</span>;
}

export function Ops({ store }: With<Uses>) {
  const loaded = store.livePanel.ops.value;
  const filter = store.livePanel.opFilter.value;
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (loaded?.kind !== "ready") return <Hint>Loading …</Hint>;
  if (loaded.value.length === 0)
    return <Hint>No graph is on record yet: its ops are listed after its first call.</Hint>;
  if (expressionOf(filter) === "wrong") return <Hint>The filter is no regular expression.</Hint>;
  return <Tree store={store} all={loaded.value} />;
}

function Tree({ store, all }: With<Uses, { all: readonly ListedOp[] }>) {
  const panel = store.livePanel;
  const [grouping, filter] = [panel.grouping.value, panel.opFilter.value];
  const tree = useMemo(() => opTree(filteredOps(all, filter), grouping), [all, filter, grouping]);
  const open = useOpenGroups(store, tree);
  const breakpoints = store.live.state.value?.breakpoints;
  const marks = useMemo(() => marksOf(tree, breakpoints ?? []), [tree, breakpoints]);
  const rows = useMemo(() => treeRows(tree, open), [tree, open]);
  if (rows.length === 0) return <Hint>No op fits the filter.</Hint>;
  return <Nodes store={store} tree={tree} open={open} marks={marks} rows={rows} />;
}

type NodesProps = With<
  Uses,
  { tree: OpTree; open: ReadonlySet<string>; marks: Marks; rows: readonly TreeRow[] }
>;

function Nodes(props: NodesProps) {
  const { store, tree, open, marks, rows } = props;
  const [focus, setFocus] = useState(0);
  const focusRow = Math.min(focus, rows.length - 1);
  const draw = (i: number, attributes: RowAttributes) => {
    const row = rows[i];
    if (row === undefined) return null;
    const choose = () => {
      setFocus(i);
      activate(store, open, row);
    };
    const node = { store, tree, row, marks, attributes, choose, isFocused: i === focusRow };
    return <NodeRow key={row.node.key} {...node} />;
  };
  return (
    <VirtualList
      label="Ops of the program"
      id="live-op"
      isTree
      rows={rows.length}
      rowHeight={GRAPH_EXECUTION_ROW}
      headerHeight={0}
      focusRow={focusRow}
      revealRow={undefined}
      revealKey=""
      onVisible={() => {}}
      onStep={setFocus}
      onKey={(key) => {
        const row = rows[focusRow];
        return row !== undefined && takeKey(props, row, key);
      }}
      render={draw}
    />
  );
}

/** The groups that are open: what the reader opened, or what a new tree begins with. */
function useOpenGroups(store: Of<Uses>, tree: OpTree): ReadonlySet<string> {
  const chosen = store.livePanel.openGroups.value;
  const first = useMemo(() => firstOpen(tree), [tree]);
  return chosen ?? first;
}

/** Goes to an op, and opens or closes a group. */
function activate(store: Of<Uses>, open: ReadonlySet<string>, { node, isOpen }: TreeRow): void {
  const panel = store.livePanel;
  if (node.op !== undefined) {
    panel.focusListedOp(node.op);
    return;
  }
  const next = new Set(open);
  if (isOpen) next.delete(node.key);
  else next.add(node.key);
  panel.setOpenGroups(next);
}

/** Right opens, Left closes, Space sets and removes breakpoints, Enter focuses an op. */
function takeKey({ store, tree, open }: NodesProps, row: TreeRow, key: string): boolean {
  const isGroup = row.node.op === undefined;
  if (key === " ") {
    if (mayEdit(store.live.program.value, store.live.readOnly.value))
      void store.livePanel.toggleBox(tree, row.node);
  } else if (key === "Enter") activate(store, open, row);
  else if (key === "ArrowRight" && isGroup && !row.isOpen) activate(store, open, row);
  else if (key === "ArrowLeft" && isGroup && row.isOpen) activate(store, open, row);
  else return false;
  return true;
}

interface NodeProps extends With<Uses> {
  readonly tree: OpTree;
  readonly row: TreeRow;
  readonly marks: Marks;
  readonly attributes: RowAttributes;
  readonly isFocused: boolean;
  readonly choose: () => void;
}

/** Space between the levels, in pixels. */
const INDENT = 16;

function NodeRow({ store, tree, row, marks, attributes, isFocused, choose }: NodeProps) {
  const { node, depth, isOpen } = row;
  const size = node.end - node.begin;
  return (
    <div
      {...attributes}
      role="row"
      class={`row lp-op nowrap ${isFocused ? "lp-op-focused" : ""}`}
      aria-level={depth + 1}
      aria-expanded={node.op === undefined ? isOpen : undefined}
      aria-selected={isFocused}
      aria-label={
        node.op === undefined ? `${node.title}, ${counted(size, "op")}` : `${node.title}, ${node.op.type}`
      }
      data-testid={node.op === undefined ? "op-group" : "op-leaf"}
      onClick={choose}
    >
      <span role="gridcell" class="lp-op-cell slim line">
        <span class="fixed" style={{ width: `${depth * INDENT}px` }} />
        <span class="lp-twist dim fixed" aria-hidden="true">
          {node.op === undefined ? (isOpen ? "▾" : "▸") : ""}
        </span>
        <Box store={store} tree={tree} row={row} marks={marks} />
        <span class="ellipsis lp-op-title" title={node.title}>
          {tree.grouping === "device" && depth === 0 ? (shortDevice(node.title) ?? node.title) : node.title}
        </span>
        {node.op === undefined ? (
          <span class="dim num">{grouped(size)}</span>
        ) : (
          <>
            <span class="chip">{node.op.type}</span>
            <span class="dim ellipsis">{tree.grouping === "layer" ? "" : node.op.layer}</span>
          </>
        )}
      </span>
    </div>
  );
}

const BOX_WORDS = {
  all: "stops at all of it",
  some: "stops at a part of it",
  none: "does not stop here",
} as const;

/** A box with three states: the program stops at all ops, at some, or at none. */
function Box({ store, tree, row: { node }, marks }: Pick<NodeProps, "store" | "tree" | "row" | "marks">) {
  const box = useRef<HTMLInputElement>(null);
  const state = boxState(marks, node);
  useEffect(() => {
    if (box.current !== null) box.current.indeterminate = state === "some";
  }, [state]);
  const mayChange = mayEdit(store.live.program.value, store.live.readOnly.value);
  return (
    <input
      ref={box}
      type="checkbox"
      class={`lp-box fixed lp-box-${state}`}
      tabIndex={-1}
      checked={state === "all"}
      disabled={!mayChange}
      aria-label={`Breakpoint on ${node.title}: ${BOX_WORDS[state]}`}
      title={`The program ${BOX_WORDS[state]} (Space)`}
      data-testid="op-box"
      onClick={(event) => event.stopPropagation()}
      onChange={(event) => {
        event.currentTarget.checked = state === "all";
        void store.livePanel.toggleBox(tree, node);
      }}
    />
  );
}
