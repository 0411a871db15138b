/** The ops of a program, each name of a function once, from the columns of the route `graphs/ops`. */
import { type ColumnPage, numberAt, textAt } from "../../api/columns";
import { type GraphId, graphId } from "../../base/ids";
import { displayName } from "../names";
import { expressionOf, type NameFilter } from "./tensor_rows";

/** An op under its name; a function that was traced several times has it in several graphs. */
export interface ListedOp {
  readonly name: string;
  readonly type: string;
  /** The name of its function as it is shown; empty outside of functions. */
  readonly function: string;
  /** The whole name of the function that was recorded last. */
  readonly fullFunction: string;
  readonly layer: string;
  readonly device: string;
  readonly slots: number;
  /** The graph that was recorded last. */
  readonly graph: GraphId;
}

/** Types whose tensors are arguments and results of a function: nothing is computed there. */
const BORDERS: ReadonlySet<string> = new Set(["_Arg", "_Retval"]);

export function listedOps(pages: readonly ColumnPage[]): readonly ListedOp[] {
  const ops = new Map<string, ListedOp>();
  for (const page of pages)
    for (let row = 0; row < page.end - page.begin; row++) {
      const op = opAt(page, row);
      if (!BORDERS.has(op.type)) ops.set(`${op.function}\n${op.name}`, op);
    }
  return [...ops.values()];
}

function opAt(page: ColumnPage, row: number): ListedOp {
  const fullFunction = textAt(page, "function", row) ?? "";
  return {
    name: textAt(page, "op_name", row) ?? "",
    type: textAt(page, "op_type", row) ?? "",
    function: displayName(fullFunction),
    fullFunction,
    layer: textAt(page, "layer", row) ?? "",
    device: textAt(page, "device", row) ?? "",
    slots: numberAt(page, "num_outputs", row) ?? 0,
    graph: graphId(textAt(page, "graph_id", row) ?? ""),
  };
}

/** The ops that fulfil the filter. */
export function filteredOps(ops: readonly ListedOp[], filter: NameFilter): readonly ListedOp[] {
  const expression = expressionOf(filter);
  if (expression === undefined) return ops;
  if (expression === "wrong") return [];
  return ops.filter((op) => expression.test(filter.by === "type" ? op.type : op.name));
}
