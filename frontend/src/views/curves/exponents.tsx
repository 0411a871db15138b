/** The magnitudes of a tensor over its occurrences: a heat map of binary exponents, its legend, and a table. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CurveSource, ExponentMap } from "../../api/curves";
import { shown } from "../../base/loaded";
import type { AxisName } from "../../model/curves";
import {
  cellWords,
  columnAt,
  columnFacts,
  columnWords,
  type MapRow,
  mapRows,
  mapWords,
  numColumns,
  zoomed,
} from "../../model/exponents";
import { useSize } from "../hooks";
import { Failure, Hint } from "../panel";
import type { With } from "../props";
import { usePalette } from "../values/palette";
import { type Cell, cellAt, drawExponents, scaleOf } from "./draw_exponents";

type Uses = "exponentMap" | "curveAxis" | "goToComputation" | "zoomCurve";

interface ExponentsProps extends With<Uses> {
  readonly source: CurveSource;
  /** The occurrence in focus. */
  readonly occurrence: number;
}

export function Exponents({ store, source, occurrence }: ExponentsProps) {
  const loaded = store.exponentMap.value;
  const map = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (map === undefined) return <Hint>Loading …</Hint>;
  if (numColumns(map) === 0) return <Hint>No magnitudes are on record here.</Hint>;
  return <Cells store={store} source={source} map={map} occurrence={occurrence} />;
}

function Cells({ store, source, map, occurrence }: ExponentsProps & { readonly map: ExponentMap }) {
  const axis = store.curveAxis.value;
  const rows = useMemo(() => mapRows(map), [map]);
  const [cell, setCell] = useState<Cell | undefined>(undefined);
  const seen = cell && clipped(cell, rows.length, numColumns(map));
  const now = columnAt(map, occurrence);
  const go = ({ column }: Cell) => {
    const index = map.columns.get("index")?.[column];
    if (index !== undefined) store.goToComputation(source, index, true);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const from = seen ?? { row: 0, column: now ?? 0 };
    const next = moved(event.key, from);
    if (next !== undefined) setCell(clipped(next, rows.length, numColumns(map)));
    else if (event.key === "Enter") go(from);
    else if (event.key in ZOOMS) store.zoomCurve(zoomed(map, source, from.column, ZOOMS[event.key]));
    else return;
    event.preventDefault();
  };
  return (
    <>
      <Canvas {...{ map, rows, axis, now, go, onKey }} cell={seen} setCell={setCell} />
      <p class="chart-words mono dim cut fixed" role="status" data-testid="exponents-words">
        {seen === undefined ? "" : cellWords(map, rows[seen.row] as MapRow, axis, seen.column)}
      </p>
      <Legend hasDenormals={rows.some(({ kind }) => kind === "denormal")} />
      <Facts map={map} rows={rows} axis={axis} here={seen?.column ?? now} />
    </>
  );
}

/** How much of the range is seen afterwards; undefined for all. */
const ZOOMS: Readonly<Record<string, number | undefined>> = { "+": 0.5, "=": 0.5, "-": 2, "0": undefined };

function clipped({ row, column }: Cell, rows: number, columns: number): Cell {
  const clip = (at: number, length: number) => Math.max(0, Math.min(length - 1, at));
  return { row: clip(row, rows), column: clip(column, columns) };
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [0, -10],
  PageDown: [0, 10],
  Home: [0, Number.NEGATIVE_INFINITY],
  End: [0, Number.POSITIVE_INFINITY],
};

function moved(key: string, { row, column }: Cell): Cell | undefined {
  const move = MOVES[key];
  return move && { row: row + move[0], column: column + move[1] };
}

interface CanvasProps {
  readonly map: ExponentMap;
  readonly rows: readonly MapRow[];
  readonly axis: AxisName;
  /** The column of the computation in focus. */
  readonly now: number | undefined;
  readonly cell: Cell | undefined;
  readonly setCell: (cell: Cell | undefined) => void;
  readonly go: (cell: Cell) => void;
  readonly onKey: (event: KeyboardEvent) => void;
}

function Canvas({ map, rows, axis, now, cell, setCell, go, onKey }: CanvasProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const inks = usePalette();
  useEffect(() => {
    if (canvas.current !== null) drawExponents(canvas.current, { map, rows, axis, now, cell }, size, inks);
  }, [map, rows, axis, now, cell, size, inks]);
  const at = ({ offsetX: x, offsetY: y }: MouseEvent) => cellAt(size, rows.length, numColumns(map), x, y);
  const choose = (event: MouseEvent) => {
    const chosen = at(event);
    if (chosen !== undefined) go(chosen);
  };
  return (
    <div
      ref={frame}
      class="chart-frame exponents-frame"
      role="application"
      aria-label={`Magnitudes by powers of two. ${mapWords(map, rows, axis)}. The arrow keys move, Enter chooses.`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys are its own.
      tabIndex={0}
      data-testid="exponents-map"
      data-drawn={size.width > 0}
      onKeyDown={onKey}
    >
      <canvas
        ref={canvas}
        onPointerMove={(event) => setCell(at(event))}
        onPointerLeave={() => setCell(undefined)}
        onClick={choose}
      />
    </div>
  );
}

/** What the colours mean. */
function Legend({ hasDenormals }: { readonly hasDenormals: boolean }) {
  const inks = usePalette();
  return (
    <p class="exponents-legend line slim wrap fixed" data-testid="exponents-legend">
      <span>share of the elements</span>
      <span class="mono">0.01 %</span>
      <i class="value-scale" style={{ background: scaleOf(inks) }} />
      <span class="mono">100 %</span>
      <span class="dim">log</span>
      <i class="value-key" style={{ background: "var(--value-nan)" }} />
      <span>NaN</span>
      <i class="value-key" style={{ background: "var(--value-pos-inf)" }} />
      <span>+∞</span>
      <i class="value-key" style={{ background: "var(--value-neg-inf)" }} />
      <span>−∞</span>
      {hasDenormals && <span class="dim">* denormal</span>}
    </p>
  );
}

const FACTS = [
  { name: "most", title: "most elements" },
  { name: "zero", title: "zeros" },
  { name: "denormal", title: "denormal" },
  { name: "infinite", title: "∞" },
  { name: "nan", title: "NaN" },
] as const;

interface FactsProps extends Pick<CanvasProps, "map" | "rows" | "axis"> {
  readonly here: number | undefined;
}

interface ColumnProps extends Pick<CanvasProps, "map" | "rows" | "axis"> {
  readonly title: string;
  readonly column: number;
}

function ColumnFacts({ map, rows, axis, title, column }: ColumnProps) {
  const facts = columnFacts(map, rows, column);
  return (
    <tr>
      <th scope="row">{title}</th>
      <td>{columnWords(map, axis, column)}</td>
      {FACTS.map(({ name }) => (
        <td key={name} class="mono">
          {facts[name]}
        </td>
      ))}
    </tr>
  );
}

/** The map as a table: its first and last columns, and the one that is pointed at or in focus. */
function Facts({ map, rows, axis, here }: FactsProps) {
  const columns = [
    { title: "first", column: 0 },
    ...(here === undefined ? [] : [{ title: "here", column: here }]),
    { title: "last", column: numColumns(map) - 1 },
  ];
  return (
    <div
      class="curve-legend exponents-facts fixed"
      role="region"
      aria-label="Magnitudes in words"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the keyboard
      tabIndex={0}
    >
      <table data-testid="exponents-table">
        <thead>
          <tr>
            <td />
            <th scope="col">place</th>
            {FACTS.map(({ name, title }) => (
              <th key={name} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {columns.map((one) => (
            <ColumnFacts key={one.title} {...{ map, rows, axis }} {...one} />
          ))}
        </tbody>
      </table>
    </div>
  );
}
