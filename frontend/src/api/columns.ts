/**
 * Decodes a columnar answer into typed arrays. They are views on the bytes of the answer: nothing is copied.
 *
 *   u32 length of the header | header, JSON | blocks, each aligned to 8 bytes; all little-endian
 */
import { type Check, list, number, object, optional, record, text } from "./check";

export type Column = Float64Array | Float32Array | Int32Array | Uint8Array;

/** Rows `begin` to `end` of a list of `total` rows, a typed array for each column. */
export interface ColumnPage {
  readonly generation: number;
  readonly begin: number;
  readonly end: number;
  readonly total: number;
  readonly columns: ReadonlyMap<string, Column>;
  readonly dictionaries: ReadonlyMap<string, readonly string[]>;
}

const blocks = object({
  columns: list(object({ name: text, type: text, offset: number, length: number })),
});
const pageHeader = object({
  generation: number,
  begin: number,
  end: number,
  total: number,
  dictionaries: optional(record(list(text))),
});

const MAKERS = { f64: Float64Array, f32: Float32Array, i32: Int32Array, u8: Uint8Array } as const;

/** Rows of a list. */
export function decodeColumns(body: ArrayBuffer): ColumnPage {
  const { header, columns } = decodeBlocks(body, pageHeader);
  return { ...header, columns, dictionaries: header.dictionaries ?? new Map() };
}

/** The fields of the header that `check` takes, and the columns. */
export function decodeBlocks<T>(
  body: ArrayBuffer,
  check: Check<T>,
): { readonly header: T; readonly columns: ReadonlyMap<string, Column> } {
  const { fields, start } = readHeader(body);
  const columns = new Map<string, Column>();
  for (const { name, type, offset, length } of blocks(fields, "header").columns) {
    if (!(type in MAKERS)) throw new Error(`The server's answer has a column of the unknown type ${type}.`);
    const Maker = MAKERS[type as keyof typeof MAKERS];
    const at = start + offset;
    if (at + length * Maker.BYTES_PER_ELEMENT > body.byteLength || at % Maker.BYTES_PER_ELEMENT !== 0) {
      throw new Error(`The server's answer is cut off in its column ${name}.`);
    }
    columns.set(name, new Maker(body, at, length));
  }
  return { header: check(fields, "header"), columns };
}

function readHeader(body: ArrayBuffer): { fields: unknown; start: number } {
  const size = body.byteLength < 4 ? -1 : new DataView(body).getUint32(0, true);
  if (size < 0 || 4 + size > body.byteLength)
    throw new Error("The server's answer is cut off in its header.");
  const json = new TextDecoder().decode(new Uint8Array(body, 4, size));
  return { fields: JSON.parse(json), start: 4 + size };
}

/** The number of a cell; `row` counts from the first row of the page. Undefined for an empty cell. */
export function numberAt(page: ColumnPage, name: string, row: number): number | undefined {
  const value = page.columns.get(name)?.[row];
  return value === undefined || Number.isNaN(value) ? undefined : value;
}

/** The text of a cell of a dictionary column; undefined for an empty cell. */
export function textAt(page: ColumnPage, name: string, row: number): string | undefined {
  const code = page.columns.get(name)?.[row];
  return code === undefined || code < 0 ? undefined : page.dictionaries.get(name)?.[code];
}
