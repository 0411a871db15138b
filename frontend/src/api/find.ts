/** The answer of the route `find`: one list for each kind of thing whose name holds a text, best first. */
import * as ids from "../base/ids";
import { branded, type Checked, list, listOrNone, number, object, optional, text } from "./check";

const graph = branded(text, ids.graphId);
const file = branded(number, ids.fileIndex);
const op = { graph_id: graph, graph_name: optional(text), op_name: text, op_type: optional(text) };

export const findAnswer = object({
  ops: list(object(op)),
  tensors: list(object({ ...op, output_slot: number })),
  layers: list(object({ name: text, num_ops: number })),
  variables: list(
    object({
      name: text,
      graph_id: graph,
      op_name: text,
      gradients: listOrNone(object({ graph_id: graph, op_name: text, output_slot: number })),
    }),
  ),
  functions: list(object({ graph_id: graph, name: text })),
  files: list(object({ index: file, file_path: text })),
  lines: list(object({ index: file, file_path: text, line: number, text })),
});
export type Found = Checked<typeof findAnswer>;
