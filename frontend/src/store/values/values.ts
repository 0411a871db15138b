/**
 * The value that is shown: what it is, a coarse grid of its slice, finer tiles and texts where they are seen,
 * its summary and its history.
 *
 * While another occurrence is loading, everything is still about the one before, and no request mixes the
 * two.
 */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { ValueInfo, ValueTexts } from "../../api/answers";
import type { ColumnPage } from "../../api/columns";
import type { Part, ValueRef } from "../../api/values";
import type { RunName } from "../../base/ids";
import { type Loaded, shown } from "../../base/loaded";
import { type Grid, gridOf, type NumberRange, rangeOf, transposed } from "../../model/values/grid";
import { hasCell, partOf, positionOf } from "../../model/values/slicing";
import { isSameRef } from "../../model/values/value_ref";
import {
  type Cell,
  hasNumbers,
  numberText,
  rangeTyped,
  type ValueView,
  viewOf,
} from "../../model/values/view";
import type { RunFacts } from "../run/run";
import { type ByKey, both, type Deps } from "../run/run";
import { Blocks, type Keyed } from "./blocks";
import type { ValueFacts } from "./verbs";

/** The coarse grid has at most this many rows and columns. */
const COARSE = 512;
const KEPT_GRIDS = 6;
const KEPT_TILES = 64;
const KEPT_TEXTS = 96;
const BINS = 40;
/** The most occurrences of an answer. */
const OCCURRENCES = 1000;

/** The coarse grid of a slice, and the slice that it is of. */
export interface ValuePicture {
  readonly view: ValueView;
  readonly grid: Grid;
  /** Of the finite elements. */
  readonly range: NumberRange | undefined;
}

/** A part of the slice, in tiles of a finer level. */
export interface TileBlock extends Keyed {
  readonly run: RunName;
  readonly ref: ValueRef;
  readonly slicing: string;
  readonly part: Part | undefined;
  /** The most rows and columns of the answer. */
  readonly size: number;
  readonly isSwapped: boolean;
}

/** A part of a table, in the order of the dimensions. */
export interface TextBlock extends Keyed {
  readonly run: RunName;
  readonly ref: ValueRef;
  readonly at: { slicing: string; row: number; column: number; rows: number; columns: number };
}

type Asking = Deps<RunFacts & ValueFacts>;
type Viewed = ReadonlySignal<ValueView | undefined>;

export function createValues(deps: Asking, byKey: ByKey) {
  const { api, facts, activity } = deps;
  const valueInfo = createInfo(deps, byKey);
  const valueView = createView(facts, valueInfo);
  const valuePicture = createPicture(deps, byKey, valueView);
  // The picture comes first: a server that computes all at once would take longer for it.
  const settledView = createSettled(valueView, valuePicture);
  return {
    valueInfo,
    valueView,
    valuePicture,
    valueSummary: createSummary(deps, byKey, settledView),
    ...createHistory(deps, byKey, settledView),
    /** Finer tiles of the picture. */
    valueTiles: new Blocks<TileBlock, Grid>(
      async ({ run, ref, slicing, part, size, isSwapped }, signal) => {
        const grid = gridOf(
          await api.valueGrid(run, ref, { slicing, part, rows: size, columns: size }, signal),
        );
        return isSwapped ? transposed(grid) : grid;
      },
      activity,
      KEPT_TILES,
    ),
    /** Exact texts of the elements. */
    valueTexts: new Blocks<TextBlock, ValueTexts>(
      ({ run, ref, at }, signal) => api.valueTexts(run, ref, at, signal),
      activity,
      KEPT_TEXTS,
    ),
  };
}

interface InfoOf {
  readonly ref: ValueRef;
  readonly info: ValueInfo;
}

/**
 * The generation is a key: a growing run gets more occurrences. That of a program's tensor is requested again
 * after a change of its value; of one that is gone, it is known without a request.
 */
function createInfo({ api, facts }: Asking, byKey: ByKey): ReadonlySignal<Loaded<InfoOf> | undefined> {
  const generation = computed(() => facts.status.value?.generation);
  return byKey(
    () => {
      const key = both(facts.run.value, facts.value.value);
      if (key === undefined || isSameRef(facts.goneValue.value?.ref, key[1])) return undefined;
      const isLive = key[1].kind === "live";
      return { run: key[0], ref: key[1], generation: isLive ? facts.liveEdition.value : generation.value };
    },
    async ({ run, ref }, signal) => ({ ref, info: await api.valueInfo(run, ref, signal) }),
  );
}

/** Undefined until the first answer. The last view stays while another value is loading. */
function createView(facts: RunFacts & ValueFacts, info: ReadonlySignal<Loaded<InfoOf> | undefined>): Viewed {
  let last: ValueView | undefined;
  return computed(() => {
    const [wanted, gone] = [facts.value.value, facts.goneValue.value];
    const known = isSameRef(gone?.ref, wanted) ? gone : shown(info.value);
    const shownAs = {
      historyOf: facts.historyOf.value,
      slicing: facts.slicing.value,
      isSwapped: facts.isSwapped.value,
      part: facts.part.value,
      liveEdition: facts.liveEdition.value,
    };
    if (wanted === undefined) last = undefined;
    else if (known !== undefined && isSameRef(known.ref, wanted)) last = viewOf(wanted, known.info, shownAs);
    return last;
  });
}

/** What requests for a kept value have in common; undefined without one. */
function sliceKey(facts: RunFacts & ValueFacts, view: ValueView | undefined) {
  const run = facts.run.value;
  if (run === undefined || view === undefined || !view.info.is_kept) return undefined;
  const { ref, edition, slicing, part } = view;
  return { run, ref, edition, slicing, part };
}

function createPicture(
  { api, facts }: Asking,
  byKey: ByKey,
  view: Viewed,
): ReadonlySignal<Loaded<ValuePicture> | undefined> {
  return byKey(
    () => {
      const [now, key] = [view.value, sliceKey(facts, view.value)];
      if (now === undefined || key === undefined || !hasNumbers(now.info)) return undefined;
      return { ...key, isSwapped: now.plane?.isSwapped ?? false };
    },
    async ({ run, ref, slicing, part, isSwapped }, signal): Promise<ValuePicture> => {
      const of = view.peek() as ValueView;
      const answer = await api.valueGrid(run, ref, { slicing, part, rows: COARSE, columns: COARSE }, signal);
      const grid = isSwapped ? transposed(gridOf(answer)) : gridOf(answer);
      return { view: of, grid, range: rangeOf(grid) };
    },
    KEPT_GRIDS,
  );
}

function isSameSlice(a: ValueView, b: ValueView): boolean {
  const key = ({ ref, edition, slicing, part, plane }: ValueView) =>
    JSON.stringify([ref, edition, slicing, part, plane?.isSwapped]);
  return key(a) === key(b);
}

/** The view whose picture has arrived or failed; the one before while it is loading. */
function createSettled(view: Viewed, picture: ReadonlySignal<Loaded<ValuePicture> | undefined>): Viewed {
  let last: ValueView | undefined;
  return computed(() => {
    const [now, loaded] = [view.value, picture.value];
    const isDrawn = loaded?.kind === "ready" && now !== undefined && isSameSlice(loaded.value.view, now);
    const hasPicture = now?.info.is_kept === true && hasNumbers(now.info);
    if (!hasPicture || isDrawn || loaded?.kind === "failed") last = now;
    return last;
  });
}

function createSummary({ api, facts }: Asking, byKey: ByKey, view: Viewed) {
  return byKey(
    () => {
      const key = sliceKey(facts, view.value);
      const range = rangeTyped(facts.range.value);
      const { low, high } = range === undefined || range === "wrong" ? {} : range;
      return key && { ...key, low: numberText(low), high: numberText(high) };
    },
    ({ run, ref, slicing, part, low, high }, signal) =>
      api.valueSummary(run, ref, { slicing, part, low, high, bins: BINS }, signal),
  );
}

/**
 * The occurrences of the tensor around the one that is shown, with the element in focus of each. Those of a
 * program's tensor are what the page has seen.
 */
function createHistory({ api, facts }: Asking, byKey: ByKey, view: Viewed) {
  const begin = computed(() => {
    const at = facts.historyAt.value ?? view.value?.info.occurrence ?? 0;
    return Math.floor(at / OCCURRENCES) * OCCURRENCES;
  });
  const element = computed(() => elementOf(facts, view.value));
  const valueHistory = byKey(
    () => {
      const [run, now] = [facts.run.value, view.value];
      if (run === undefined || now === undefined || now.ref.kind === "live") return undefined;
      const total = now.info.num_occurrences;
      const end = Math.min(total, begin.value + OCCURRENCES);
      return { run, of: now.historyOf, begin: begin.value, end, slicing: element.value };
    },
    ({ run, of, begin: from, end, slicing }, signal): Promise<ColumnPage> =>
      api.valueHistory(run, of, { begin: from, end, slicing }, signal),
  );
  return {
    valueHistory,
    /** The element whose history is shown, as a slicing; undefined when none is chosen. */
    valueElement: element,
  };
}

function elementOf(facts: RunFacts & ValueFacts, view: ValueView | undefined): string | undefined {
  const [cell, plane] = [facts.cell.value, view?.plane];
  if (plane === undefined || view === undefined || !hasNumbers(view.info)) return undefined;
  if (plane.rows === undefined && plane.columns === undefined) return view.slicing;
  if (cell === undefined || !hasCell(plane, cell.row, cell.column)) return undefined;
  return `[${positionOf(plane, cell.row, cell.column).join(", ")}]`;
}

/** The block of finer tiles for a part of a picture. */
export function tileBlock(
  run: RunName,
  { view }: ValuePicture,
  block: Keyed & {
    readonly rows: { begin: number; end: number };
    readonly columns: { begin: number; end: number };
  },
  size: number,
): TileBlock | undefined {
  const { ref, edition, plane, part } = view;
  if (plane === undefined) return undefined;
  const key = JSON.stringify([run, ref, edition, view.slicing, plane.isSwapped, part, block.key]);
  const slicing = partOf(plane, block.rows, block.columns);
  return { key, run, ref, slicing, part, size, isSwapped: plane.isSwapped };
}

/** The sizes of a block of a matrix, and of a vector, which is one row. */
const OF_MATRIX = { rows: 50, columns: 20 } as const;
const OF_VECTOR = { rows: 1, columns: 100 } as const;

export type TextBlocks = Blocks<TextBlock, ValueTexts>;

/** The block with an element. */
export function textBlock(run: RunName, view: ValueView, cell: Cell): TextBlock {
  const { row, column } = inOrder(view, cell);
  const size = view.plane?.rows === undefined ? OF_VECTOR : OF_MATRIX;
  const at = {
    slicing: view.slicing,
    row: Math.floor(row / size.rows) * size.rows,
    column: Math.floor(column / size.columns) * size.columns,
    ...size,
  };
  return { key: JSON.stringify([run, view.ref, view.edition, at]), run, ref: view.ref, at };
}

/** The exact text of an element; undefined when it was not fetched. */
export function textOf(texts: TextBlocks, run: RunName, view: ValueView, cell: Cell): string | undefined {
  const { key, at } = textBlock(run, view, cell);
  const { row, column } = inOrder(view, cell);
  return texts.at(key)?.cells[row - at.row]?.[column - at.column];
}

/** The blocks of a part of the plane. */
export function textBlocks(
  run: RunName,
  view: ValueView,
  rows: { readonly begin: number; readonly end: number },
  columns: { readonly begin: number; readonly end: number },
): readonly TextBlock[] {
  const blocks = new Map<string, TextBlock>();
  const size = view.plane?.rows === undefined ? OF_VECTOR : OF_MATRIX;
  const [down, across] = view.plane?.isSwapped ? [size.columns, size.rows] : [size.rows, size.columns];
  for (let row = rows.begin; row < rows.end; row = next(row, down))
    for (let column = columns.begin; column < columns.end; column = next(column, across)) {
      const block = textBlock(run, view, { row, column });
      blocks.set(block.key, block);
    }
  return [...blocks.values()];
}

function next(at: number, size: number): number {
  return (Math.floor(at / size) + 1) * size;
}

/** The position in the order of the dimensions. */
function inOrder({ plane }: ValueView, { row, column }: Cell): Cell {
  return plane?.isSwapped ? { row: column, column: row } : { row, column };
}
