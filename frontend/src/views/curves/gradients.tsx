/** Gradients, weights and updates of each variable over the steps of the training, as a heat map. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { GradientFlow } from "../../api/curves";
import { shown } from "../../base/loaded";
import { shortNumber } from "../../base/text";
import {
  cellOf,
  type FlowMap,
  type FlowRow,
  flowMap,
  flowWords,
  indexOf,
  MEASURES,
  type Measure,
  recordedMeasures,
  shareOf,
  stepWords,
} from "../../model/gradient_flow";
import { between, type Rgb } from "../../model/values/colours";
import { Choice } from "../choice";
import { Failure, Hint } from "../panel";
import type { With } from "../props";
import { gradientOf, type Inks, usePalette } from "../values/palette";

type Uses = "gradientFlow" | "openCurve";

export function GradientsPanel({ store }: With<Uses>) {
  const loaded = store.gradientFlow.value;
  const flow = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (flow === undefined) return <Hint>Loading …</Hint>;
  const measures = recordedMeasures(flow);
  if (measures[0] === undefined)
    return (
      <Hint>
        No number of a gradient, weight or update of a variable is on record. A training in a graph (
        <code>tf.function</code>, <code>fit</code>) that is recorded with mode FULL_NUMERICS has them; with
        FULL_HEALTH there are shares of zeros only.
      </Hint>
    );
  return <Flow store={store} flow={flow} measures={measures} />;
}

interface FlowProps extends With<Uses> {
  readonly flow: GradientFlow;
  readonly measures: readonly Measure[];
}

interface Place {
  readonly row: number;
  readonly column: number;
}

function Flow({ store, flow, measures }: FlowProps) {
  const [wanted, setWanted] = useState<Measure>("gradient_norm");
  const [place, setPlace] = useState<Place>({ row: 0, column: flow.num_columns - 1 });
  const measure = measures.includes(wanted) ? wanted : (measures[0] as Measure);
  const map = useMemo(() => flowMap(flow, measure), [flow, measure]);
  const open = ({ row, column }: Place) => {
    const index = indexOf(flow, measure, row, column);
    if (index !== undefined) store.openCurve(index);
  };
  const onKey = (event: KeyboardEvent) => {
    const next = moved(event.key, place, map);
    if (next !== undefined) setPlace(next);
    else if (event.key === "Enter") open(place);
    else return;
    event.preventDefault();
  };
  return (
    <div class="flow pile short grow" data-testid="flow">
      <FlowTools flow={flow} map={map} measure={measure} measures={measures} choose={setWanted} />
      <div
        class="flow-rows scroll short grow"
        role="application"
        aria-label={`${MEASURES[measure].title} by variable and step: the arrow keys choose a cell, Enter opens its curve`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys are its own.
        tabIndex={0}
        data-testid="flow-map"
        onKeyDown={onKey}
      >
        <FlowTable flow={flow} map={map} measure={measure} place={place} choose={setPlace} open={open} />
      </div>
      <p class="flow-place mono dim cut fixed" role="status" data-testid="flow-place">
        {placeWords(flow, map, measure, place)}
      </p>
    </div>
  );
}

interface ToolsProps {
  readonly flow: GradientFlow;
  readonly map: FlowMap;
  readonly measure: Measure;
  readonly measures: readonly Measure[];
  readonly choose: (measure: Measure) => void;
}

function FlowTools({ flow, map, measure, measures, choose }: ToolsProps) {
  return (
    <div class="flow-tools line wrap fixed">
      <Choice
        options={measures.map((value) => ({ value, title: MEASURES[value].title }))}
        value={measure}
        choose={choose}
        label="What a cell shows"
        testId="flow-measure"
      />
      <strong class="flow-words grow" data-testid="flow-words">
        {flowWords(map, measure, (column) => stepWords(flow, column))}
      </strong>
      <Scale map={map} measure={measure} />
    </div>
  );
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function moved(key: string, { row, column }: Place, { rows, columns }: FlowMap): Place | undefined {
  if (key === "Home") return { row, column: 0 };
  if (key === "End") return { row, column: columns - 1 };
  const move = MOVES[key];
  if (move === undefined) return undefined;
  const clip = (at: number, length: number) => Math.max(0, Math.min(length - 1, at));
  return { row: clip(row + move[0], rows.length), column: clip(column + move[1], columns) };
}

function placeWords(flow: GradientFlow, map: FlowMap, measure: Measure, { row, column }: Place): string {
  const variable = map.rows[row];
  if (variable === undefined) return "";
  const isBad = variable.bad[column] === true ? " · NaN or ∞" : "";
  return `${variable.title} · ${stepWords(flow, column)} · ${MEASURES[measure].title} ${numberWords(variable.cells[column])}${isBad}`;
}

function numberWords(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? "–" : shortNumber(value);
}

interface TableProps {
  readonly flow: GradientFlow;
  readonly map: FlowMap;
  readonly measure: Measure;
  readonly place: Place;
  readonly choose: (place: Place) => void;
  readonly open: (place: Place) => void;
}

const BESIDE = [
  { name: "gradient_norm", title: "gradient" },
  { name: "value_norm", title: "weight" },
  { name: "update_ratio", title: "update / weight" },
] as const;

function FlowTable({ flow, map, measure, place, choose, open }: TableProps) {
  const inks = usePalette();
  return (
    <table class="flow-table wide" style={{ "--rows": map.rows.length + 1 }}>
      <FlowHead flow={flow} place={place} />
      <tbody>
        {map.rows.map((row, at) => (
          <tr key={row.variable} class={at === place.row ? "selected" : ""}>
            <th scope="row" title={row.variable}>
              {row.title}
            </th>
            <td class="flow-cells">
              <Strip
                row={row}
                map={map}
                isShare={MEASURES[measure].isShare}
                inks={inks}
                now={at === place.row ? place.column : undefined}
                hover={(column) => choose({ row: at, column })}
                open={(column) => open({ row: at, column })}
              />
            </td>
            {BESIDE.map(({ name }) => (
              <td key={name} class="flow-number mono">
                {numberWords(cellOf(flow, name, at, place.column))}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function FlowHead({ flow, place }: Pick<TableProps, "flow" | "place">) {
  return (
    <thead>
      <tr>
        <th scope="col">variable</th>
        <th scope="col" class="flow-cells">
          <span class="line ends">
            <span>step 1</span>
            <span>{stepWords(flow, flow.num_columns - 1).replace(/^steps? /, "")}</span>
          </span>
        </th>
        {BESIDE.map(({ name, title }) => (
          <th
            key={name}
            scope="col"
            class="flow-number"
            title={`${title} at ${stepWords(flow, place.column)}`}
          >
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface StripProps {
  readonly row: FlowRow;
  readonly map: FlowMap;
  readonly isShare: boolean;
  readonly inks: Inks;
  readonly now: number | undefined;
  readonly hover: (column: number) => void;
  readonly open: (column: number) => void;
}

/** The cells of a variable. */
function Strip({ row, map, isShare, inks, now, hover, open }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (canvas.current !== null) drawStrip(canvas.current, row, map, isShare, inks);
  }, [row, map, isShare, inks]);
  const columnAt = ({ offsetX }: MouseEvent) => {
    const width = canvas.current?.clientWidth || 1;
    return Math.max(0, Math.min(map.columns - 1, Math.floor((offsetX / width) * map.columns)));
  };
  return (
    <span class="flow-strip">
      <canvas
        ref={canvas}
        data-testid="flow-strip"
        onPointerMove={(event) => hover(columnAt(event))}
        onClick={(event) => open(columnAt(event))}
      />
      {now !== undefined && (
        <i
          class="flow-now"
          style={{ left: `${(now / map.columns) * 100}%`, width: `${100 / map.columns}%` }}
        />
      )}
    </span>
  );
}

/** Pixels of a cell; CSS stretches them. */
const CELL = 6;
const TALL = 12;

function drawStrip(
  canvas: HTMLCanvasElement,
  row: FlowRow,
  map: FlowMap,
  isShare: boolean,
  inks: Inks,
): void {
  canvas.width = map.columns * CELL;
  canvas.height = TALL;
  const context = canvas.getContext("2d");
  if (context === null) return;
  row.cells.forEach((cell, column) => {
    const left = column * CELL;
    const isBad = row.bad[column] === true;
    if (Number.isFinite(cell)) {
      context.fillStyle = css(colourOf(inks, shareOf(cell, map, isShare)));
      context.fillRect(left, 0, CELL, TALL);
    }
    if (!isBad) return;
    // Stripes, not a colour alone.
    context.fillStyle = css(inks.nan);
    context.fillRect(left, 0, CELL, TALL);
    context.fillStyle = css(inks.faded);
    for (let y = 2; y < TALL; y += 4) context.fillRect(left, y, CELL, 1);
  });
}

function colourOf({ sequential }: Inks, share: number): Rgb {
  return between(sequential, share);
}

function css([r, g, b]: Rgb): string {
  return `rgb(${r} ${g} ${b})`;
}

/** The colours and their ends. */
function Scale({ map: { range }, measure }: { readonly map: FlowMap; readonly measure: Measure }) {
  const inks = usePalette();
  if (range === undefined) return null;
  return (
    <span class="line slim" data-testid="flow-scale">
      <span class="mono">{shortNumber(range.low)}</span>
      <i class="value-scale" style={{ background: gradientOf(inks, false) }} />
      <span class="mono">{shortNumber(range.high)}</span>
      {!MEASURES[measure].isShare && <span class="dim">log</span>}
      <i class="value-key" style={{ background: "var(--value-nan)" }} />
      <span>NaN, ∞</span>
    </span>
  );
}
