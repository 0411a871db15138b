/**
 * The routes below `values`, which read the elements of one recorded tensor.
 *
 * A `ValueRef` names the tensor. A `slicing` is a text in NumPy's notation, such as `[:, 3, ::2]`.
 */
import type * as ids from "../base/ids";
import { type ValueGrid, valueGrid, valueInfo, valueSummary, valueTexts } from "./answers";
import { type Column, type ColumnPage, decodeBlocks, decodeColumns } from "./columns";
import { address, type Client, type Params } from "./fetch";

/** A tensor of a graph, an output of an execution, or a tensor that a program holds while it runs. */
export type ValueRef =
  | { readonly kind: "graph_execution"; readonly index: ids.GraphExecutionIndex }
  | { readonly kind: "execution"; readonly index: ids.ExecutionIndex; readonly slot: number }
  | { readonly kind: "live"; readonly program: ids.ProgramId; readonly tensor: ids.LiveTensorNumber };

/** The real number that is shown of a complex one. */
export const PARTS = ["abs", "real", "imag", "angle"] as const;
export type Part = (typeof PARTS)[number];

/** A slice as a grid of tiles; see `model/values/grid.ts`. */
export interface GridAnswer extends ValueGrid {
  readonly columns: ReadonlyMap<string, Column>;
}

/** What is asked of a value. */
export interface Slice {
  readonly slicing: string;
  readonly part?: Part | undefined;
}

export function valueRoutes(client: Client) {
  return {
    valueInfo: (run: ids.RunName, ref: ValueRef, signal?: AbortSignal) =>
      client.json("values/info", refParams(run, ref), valueInfo, signal),
    /** At most `rows` x `columns` tiles of the slice. */
    valueGrid: async (
      run: ids.RunName,
      ref: ValueRef,
      slice: Slice & { readonly rows: number; readonly columns: number },
      signal?: AbortSignal,
    ): Promise<GridAnswer> => {
      const body = await client.bytes("values", { ...refParams(run, ref), ...slice }, signal);
      const { header, columns } = decodeBlocks(body, valueGrid);
      return { ...header, columns };
    },
    valueTexts: (
      run: ids.RunName,
      ref: ValueRef,
      at: { slicing: string; row: number; column: number; rows: number; columns: number },
      signal?: AbortSignal,
    ) => client.json("values/text", { ...refParams(run, ref), ...at }, valueTexts, signal),
    valueSummary: (
      run: ids.RunName,
      ref: ValueRef,
      of: Slice & {
        readonly low?: string | undefined;
        readonly high?: string | undefined;
        readonly bins?: number;
      },
      signal?: AbortSignal,
    ) => client.json("values/summary", { ...refParams(run, ref), ...of }, valueSummary, signal),
    valueHistory: async (
      run: ids.RunName,
      ref: ValueRef,
      of: { begin: number; end: number; slicing: string | undefined },
      signal?: AbortSignal,
    ): Promise<ColumnPage> =>
      decodeColumns(await client.bytes("values/history", { ...refParams(run, ref), ...of }, signal)),
  };
}

/** The address of the slice as a file that NumPy reads. */
export function npyAddress(run: ids.RunName, ref: ValueRef, slicing: string): string {
  return address("values/npy", { ...refParams(run, ref), slicing });
}

/** The parameters that name a tensor. */
export function refParams(run: ids.RunName, ref: ValueRef): Params {
  switch (ref.kind) {
    case "graph_execution":
      return { run, graph_execution: ref.index };
    case "execution":
      return { run, execution: ref.index, slot: ref.slot };
    case "live":
      return { program: ref.program, tensor: ref.tensor };
  }
}
