/**
 * A tree of ops by device, scope or layer, made for programs of many thousand ops: the ops are sorted once by
 * their paths, a node is a range of them, and the children of a node are found only when it is opened.
 */
import type { ListedOp } from "./op_list";

export type Grouping = "scope" | "layer" | "device";

/** Ops in the order of their paths. */
export interface OpTree {
  readonly grouping: Grouping;
  readonly ops: readonly ListedOp[];
  readonly paths: readonly (readonly string[])[];
}

/** An op, or a group of the ops `begin` to `end`. */
export interface TreeNode {
  readonly key: string;
  readonly title: string;
  readonly path: readonly string[];
  readonly begin: number;
  readonly end: number;
  /** Undefined for a group. */
  readonly op: ListedOp | undefined;
}

/** A node as a row of the list, with how deep it is. */
export interface TreeRow {
  readonly node: TreeNode;
  readonly depth: number;
  readonly isOpen: boolean;
}

const NO_LAYER = "no layer";
const NO_DEVICE = "device not recorded";
const NO_FUNCTION = "outside of functions";
/** Between the parts of a path when paths are compared; no name has it. */
const SEPARATOR = "\u0001";

const PATHS: Readonly<Record<Grouping, (op: ListedOp) => readonly string[]>> = {
  scope: (op) => scoped(op),
  layer: (op) => [
    ...(op.layer === "" ? [NO_LAYER] : op.layer.split("/")),
    ...scoped(op).slice(0, 1),
    op.name,
  ],
  device: (op) => [op.device === "" ? NO_DEVICE : op.device, ...scoped(op)],
};

function scoped(op: ListedOp): readonly string[] {
  return [op.function === "" ? NO_FUNCTION : op.function, ...op.name.split("/")];
}

export function opTree(ops: readonly ListedOp[], grouping: Grouping): OpTree {
  const rows = ops.map((op) => {
    const path = PATHS[grouping](op);
    return { op, path, key: path.join(SEPARATOR) };
  });
  rows.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return { grouping, ops: rows.map(({ op }) => op), paths: rows.map(({ path }) => path) };
}

/** The nodes at the top. */
export function rootsOf(tree: OpTree): readonly TreeNode[] {
  return nodesOf(tree, [], 0, tree.ops.length);
}

export function childrenOf(tree: OpTree, { path, begin, end, op }: TreeNode): readonly TreeNode[] {
  return op === undefined ? nodesOf(tree, path, begin, end) : [];
}

/** The nodes one level below a path, whose ops are a range. An op and a scope may have the same name. */
function nodesOf(tree: OpTree, above: readonly string[], begin: number, end: number): readonly TreeNode[] {
  const nodes: TreeNode[] = [];
  const depth = above.length;
  for (let from = begin; from < end; ) {
    const title = tree.paths[from]?.[depth] ?? "";
    const isOp = tree.paths[from]?.length === depth + 1;
    let to = from + 1;
    while (!isOp && to < end && tree.paths[to]?.[depth] === title) to++;
    const path = [...above, title];
    const op = isOp ? tree.ops[from] : undefined;
    const key = `${isOp ? "op" : "group"} ${path.join(SEPARATOR)}`;
    nodes.push({ key, title, path, begin: from, end: to, op });
    from = to;
  }
  return nodes;
}

/** The rows that are seen when the nodes with these keys are open. */
export function treeRows(tree: OpTree, open: ReadonlySet<string>): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (nodes: readonly TreeNode[], depth: number) => {
    for (const node of nodes) {
      const isOpen = open.has(node.key);
      rows.push({ node, depth, isOpen });
      if (isOpen) add(childrenOf(tree, node), depth + 1);
    }
  };
  add(rootsOf(tree), 0);
  return rows;
}

/** The groups to open so that a tree with few ops is seen as a whole, and else its only branch. */
export function firstOpen(tree: OpTree, few = 60): ReadonlySet<string> {
  const open = new Set<string>();
  const add = (nodes: readonly TreeNode[]) => {
    for (const node of nodes) {
      if (node.op !== undefined || (tree.ops.length > few && nodes.length > 1)) continue;
      open.add(node.key);
      add(childrenOf(tree, node));
    }
  };
  add(rootsOf(tree));
  return open;
}
