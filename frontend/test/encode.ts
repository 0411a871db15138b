/** Encodes columns as the server does: the twin of src/api/columns.ts. */
type Cell = number | string | null;

export interface ColumnSpec {
  readonly type: "f64" | "i32" | "u8";
  readonly dictionary?: boolean;
}

export function encodeColumns(
  specs: Readonly<Record<string, ColumnSpec>>,
  rows: readonly Readonly<Record<string, Cell>>[],
  range: { generation: number; begin: number; total: number; [field: string]: unknown },
): ArrayBuffer {
  const dictionaries: Record<string, string[]> = {};
  const blocks: Uint8Array[] = [];
  let offset = 0;
  const columns = Object.entries(specs).map(([name, { type, dictionary }]) => {
    const words: string[] = [];
    const codes = rows.map((row) => cellNumber(row[name] ?? null, dictionary ? words : undefined));
    if (dictionary) dictionaries[name] = words;
    const block = padded(bytesOf(type, codes));
    const column = { name, type, offset, length: rows.length };
    blocks.push(block);
    offset += block.length;
    return column;
  });
  const header = { ...range, end: range.begin + rows.length, columns, dictionaries };
  return joined(header, blocks, offset);
}

function cellNumber(cell: Cell, words: string[] | undefined): number {
  if (words === undefined) return typeof cell === "number" ? cell : Number.NaN;
  if (cell === null) return -1;
  const text = String(cell);
  const known = words.indexOf(text);
  return known >= 0 ? known : words.push(text) - 1;
}

function bytesOf(type: ColumnSpec["type"], values: readonly number[]): Uint8Array {
  const Maker = { f64: Float64Array, i32: Int32Array, u8: Uint8Array }[type];
  return new Uint8Array(Maker.from(values).buffer);
}

function padded(bytes: Uint8Array): Uint8Array {
  const whole = new Uint8Array(Math.ceil(bytes.length / 8) * 8);
  whole.set(bytes);
  return whole;
}

function joined(header: object, blocks: readonly Uint8Array[], size: number): ArrayBuffer {
  const json = new TextEncoder().encode(JSON.stringify(header));
  const headerSize = Math.ceil((4 + json.length) / 8) * 8 - 4;
  const whole = new Uint8Array(4 + headerSize + size).fill(32, 4, 4 + headerSize);
  new DataView(whole.buffer).setUint32(0, headerSize, true);
  whole.set(json, 4);
  let at = 4 + headerSize;
  for (const block of blocks) {
    whole.set(block, at);
    at += block.length;
  }
  return whole.buffer;
}
