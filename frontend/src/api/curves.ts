/** The routes of numbers over time: the curve of a tensor, and gradients by variable. */
import type * as ids from "../base/ids";
import { type Column, decodeBlocks } from "./columns";
import type { Client } from "./fetch";
import {
  type Curve as CurveHeader,
  curve,
  type ExponentMap as ExponentHeader,
  exponentMap,
  type GradientFlow as FlowHeader,
  gradientFlow,
} from "./generated/answers";
import { refParams, type ValueRef } from "./values";

/** The tensors of a variable. */
export const OF_VARIABLE = ["value", "gradient", "update"] as const;
export type OfVariable = (typeof OF_VARIABLE)[number];

/** What a curve is of: the tensor that a value is an occurrence of, or a tensor of a variable. */
export type CurveSource =
  | ValueRef
  | { readonly kind: "variable"; readonly name: string; readonly of: OfVariable };

/** A row for each point. */
export interface Curve extends CurveHeader {
  readonly columns: ReadonlyMap<string, Column>;
}

/** A row for each column of the map. */
export interface ExponentMap extends ExponentHeader {
  readonly columns: ReadonlyMap<string, Column>;
}

/** Tables of variables × columns, row by row. */
export interface GradientFlow extends FlowHeader {
  readonly columns: ReadonlyMap<string, Column>;
}

/** What is asked of a curve; without a number, the server takes the first that is on record. */
export interface CurveWanted {
  readonly number?: string | undefined;
  readonly begin?: number | undefined;
  readonly end?: number | undefined;
  readonly most?: number;
}

export function curveRoutes(client: Client) {
  return {
    curve: async (
      run: ids.RunName,
      source: CurveSource,
      wanted: CurveWanted,
      signal?: AbortSignal,
    ): Promise<Curve> => {
      const body = await client.bytes("curve", { ...sourceParams(run, source), ...wanted }, signal);
      const { header, columns } = decodeBlocks(body, curve);
      return { ...header, columns };
    },
    /** The histogram of magnitudes over the occurrences. */
    exponents: async (
      run: ids.RunName,
      source: CurveSource,
      wanted: Omit<CurveWanted, "number">,
      signal?: AbortSignal,
    ): Promise<ExponentMap> => {
      const body = await client.bytes("exponents", { ...sourceParams(run, source), ...wanted }, signal);
      const { header, columns } = decodeBlocks(body, exponentMap);
      return { ...header, columns };
    },
    gradientFlow: async (run: ids.RunName, most: number, signal?: AbortSignal): Promise<GradientFlow> => {
      const body = await client.bytes("gradient_flow", { run, most }, signal);
      const { header, columns } = decodeBlocks(body, gradientFlow);
      return { ...header, columns };
    },
  };
}

function sourceParams(run: ids.RunName, source: CurveSource) {
  return source.kind === "variable" ? { run, tensor: source.name, of: source.of } : refParams(run, source);
}
