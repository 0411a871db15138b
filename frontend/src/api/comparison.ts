/** The routes of comparisons: where two runs part, and the histories of a tensor in both. */
import type * as ids from "../base/ids";
import { type Column, decodeBlocks } from "./columns";
import type { Client } from "./fetch";
import { comparison, type Histories as HistoriesHeader, histories } from "./generated/answers";
import { refParams, type ValueRef } from "./values";

export type {
  ComparedSide as Side,
  Comparison,
  FirstDifference,
  InputOfFirst,
  ProgramChange,
  TensorDifference,
} from "./generated/answers";

/** A row for each occurrence; of a long history, for some of them. */
export interface Histories extends HistoriesHeader {
  readonly columns: ReadonlyMap<string, Column>;
}

export function comparisonRoutes(client: Client) {
  return {
    /** Without a tolerance, the server computes one for each tensor. */
    compare: (run: ids.RunName, other: ids.RunName, tolerance?: number, signal?: AbortSignal) =>
      client.json("compare", { run, other, tolerance }, comparison, signal),
    /** `ref` is one of the occurrences in `run`. */
    histories: async (
      run: ids.RunName,
      other: ids.RunName,
      ref: ValueRef,
      tolerance?: number,
      signal?: AbortSignal,
    ): Promise<Histories> => {
      const params = { ...refParams(run, ref), other, tolerance };
      const body = await client.bytes("compare/histories", params, signal);
      const { header, columns } = decodeBlocks(body, histories);
      return { ...header, columns };
    },
  };
}
