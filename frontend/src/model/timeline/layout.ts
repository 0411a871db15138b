/** Where the rows of a timeline are drawn: threads and devices below each other, calls over what ran inside. */
import type { Timeline, TimelineLane, TimelineTrack } from "../../api/answers";
import { counted, grouped } from "../../base/text";
import { displayName, shortDevice } from "../names";
import { pixelOf, placeWords, type Span, secondsWords, type TimelineAxis } from "./window";

export type TimelineList = "session_runs" | "executions" | "graph_executions" | "op_times";

/** A rectangle in pixels. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A row of a list. */
export interface RowMark extends Place, Span {
  readonly kind: "row";
  readonly list: TimelineList;
  readonly lane: number;
  /** The thread, or the device. */
  readonly track: string;
  /** In the list; of a timed op that of what it computed, if that is on record. */
  readonly position: number | undefined;
  readonly name: string;
  readonly type: string;
  readonly bad: boolean;
}

/** Rows that have no room of their own. */
export interface BinMark extends Place, Span {
  readonly kind: "bin";
  readonly list: TimelineList;
  readonly lane: number;
  readonly track: string;
  readonly count: number;
  readonly bad: number;
  /** The position of the first bad one. */
  readonly firstBad: number | undefined;
  /** The share of the height that is filled. */
  readonly share: number;
}

export type Mark = RowMark | BinMark;

/** A thread, or a device. */
export interface TrackPlace {
  readonly title: string;
  readonly host: string;
  readonly y: number;
  readonly height: number;
}

export interface TimelinePicture {
  readonly tracks: readonly TrackPlace[];
  /** By lane, in order. */
  readonly marks: readonly (readonly Mark[])[];
  readonly height: number;
}

const SIZES = { title: 20, lane: 24, gap: 2, below: 10 } as const;
/** The height of lanes where there is room. */
const TALLEST = 3 * SIZES.lane;
/** The narrowest mark that can be seen. */
const NARROWEST = 1.5;
/** A bad mark is at least as wide as its triangle. */
const REACH = 4;

/** The picture of an answer, as a window of some width shows it; few lanes fill a high frame. */
export function pictureOf(answer: Timeline, window: Span, width: number, room = 0): TimelinePicture {
  const high = laneHeight(answer, room);
  const tracks: TrackPlace[] = [];
  const marks: Mark[][] = [];
  let y = 0;
  for (const track of answer.tracks) {
    const top = y;
    y += SIZES.title;
    for (const lane of track.lanes) {
      const place = { y, height: high, lane: marks.length, track: titleOf(track), window, width };
      marks.push([...binsOf(answer, lane, place), ...rowsOf(lane, place)]);
      y += high + SIZES.gap;
    }
    tracks.push({ title: titleOf(track), host: track.host, y: top, height: y - top });
    y += SIZES.below;
  }
  return { tracks, marks, height: y };
}

function laneHeight({ tracks }: Timeline, room: number): number {
  const lanes = tracks.reduce((sum, track) => sum + track.lanes.length, 0);
  const left = room - tracks.length * (SIZES.title + SIZES.below) - lanes * SIZES.gap;
  return Math.max(SIZES.lane, Math.min(TALLEST, Math.floor(left / Math.max(1, lanes))));
}

function titleOf({ host, thread, device }: TimelineTrack): string {
  return `${host} · ${device === undefined ? (thread ?? "thread not recorded") : `ops on ${shortDevice(device)}`}`;
}

interface LanePlace {
  readonly y: number;
  readonly height: number;
  readonly lane: number;
  readonly track: string;
  readonly window: Span;
  readonly width: number;
}

function placed({ begin, end }: Span, { y, height, window, width }: LanePlace): Place {
  const x = pixelOf(begin, window, width);
  return { x, y, width: Math.max(NARROWEST, pixelOf(end, window, width) - x), height };
}

function rowsOf({ list, rows }: TimelineLane, place: LanePlace): readonly RowMark[] {
  return rows.position.map((position, i) => {
    const span = { begin: rows.begin[i] ?? 0, end: rows.end[i] ?? 0 };
    return {
      kind: "row" as const,
      ...{ lane: place.lane, track: place.track },
      ...{ ...span, ...placed(span, place), list: list as TimelineList, position },
      ...{ name: rows.name[i] ?? "", type: rows.type[i] ?? "", bad: rows.bad[i] ?? false },
    };
  });
}

function binsOf(answer: Timeline, { list, bins }: TimelineLane, place: LanePlace): readonly BinMark[] {
  if (bins === undefined) return [];
  const step = (answer.end - answer.begin) / answer.num_bins;
  const most = Math.log1p(Math.max(1, ...bins.count));
  return bins.bin.map((bin, i) => {
    const begin = answer.begin + bin * step;
    const span = { begin, end: begin + step };
    const count = bins.count[i] ?? 0;
    return {
      kind: "bin" as const,
      ...{ lane: place.lane, track: place.track },
      ...{ ...span, ...placed(span, place), list: list as TimelineList, count },
      ...{ bad: bins.bad[i] ?? 0, firstBad: bins.first_bad[i], share: Math.log1p(count) / most },
    };
  });
}

export function isBad(mark: Mark): boolean {
  return mark.kind === "row" ? mark.bad : mark.bad > 0;
}

/** What is at a point: the nearest bad mark within reach, else what is drawn over the others. */
export function markAt({ marks }: TimelinePicture, x: number, y: number): Mark | undefined {
  const lane = marks.find(([first]) => first !== undefined && y >= first.y && y < first.y + first.height);
  const distance = (mark: Mark) => Math.max(mark.x - x, x - mark.x - mark.width, 0);
  const near = (lane ?? []).filter((mark) => distance(mark) <= REACH);
  const bad = near.filter((mark) => isBad(mark) && mark.width < 2 * REACH);
  const at = bad.length > 0 ? bad : near;
  // Later ones are drawn over earlier ones.
  return at.reduce<Mark | undefined>(
    (best, mark) => (best === undefined || distance(mark) <= distance(best) ? mark : best),
    undefined,
  );
}

/**
 * The mark that shows what a mark of an earlier answer showed: the same one, or the nearest one of its place where
 * rows came apart or were counted together; undefined where nothing of it is left.
 */
export function markStill({ marks }: TimelinePicture, from: Mark): Mark | undefined {
  const middle = (from.begin + from.end) / 2;
  const distance = ({ begin, end }: Span) => Math.max(begin - middle, middle - end, 0);
  const lane = marks.find(([first]) => first?.track === from.track && first.list === from.list) ?? [];
  const near = lane.filter((mark) => overlap(mark, from));
  const same = near.find(
    ({ kind, begin, end }) => kind === from.kind && begin === from.begin && end === from.end,
  );
  const bad = isBad(from) ? near.filter(isBad) : [];
  return same ?? (bad.length > 0 ? bad : near).sort((a, b) => distance(a) - distance(b)).at(0);
}

/** Whether two spans share more than an end; a span without a length may lie on one. */
function overlap(a: Span, b: Span): boolean {
  const [begin, end] = [Math.max(a.begin, b.begin), Math.min(a.end, b.end)];
  return begin < end || (begin === end && (a.begin === a.end || b.begin === b.end));
}

/** The mark beside another one, or in the lane above or below it; the first one without any. */
export function markBeside(
  { marks }: TimelinePicture,
  from: Mark | undefined,
  { across = 0, down = 0, onlyBad = false }: { across?: 1 | -1 | 0; down?: 1 | -1 | 0; onlyBad?: boolean },
): Mark | undefined {
  const lanes = marks.map((lane) =>
    lane.filter((mark) => !onlyBad || isBad(mark)).sort((a, b) => a.begin - b.begin || a.end - b.end),
  );
  const filled = lanes.flatMap((lane, number) => (lane.length > 0 ? [number] : []));
  if (from === undefined) return lanes[filled[0] ?? 0]?.[0];
  if (down === 0) return besideInLane(lanes[from.lane] ?? [], from, across) ?? from;
  const next = filled.filter((number) => (number - from.lane) * down > 0).at(down > 0 ? 0 : -1);
  return next === undefined ? from : besideInLane(lanes[next] ?? [], from, 0);
}

function besideInLane(lane: readonly Mark[], { begin }: Span, across: number): Mark | undefined {
  if (across > 0) return lane.find((mark) => mark.begin > begin);
  if (across < 0) return lane.findLast((mark) => mark.begin < begin);
  return lane.find((mark) => mark.begin >= begin) ?? lane.at(-1);
}

/** The lists whose rows have a begin and an end on record. */
const TIMED: ReadonlySet<TimelineList> = new Set(["session_runs", "op_times"]);
const NOUNS: Readonly<Record<TimelineList, readonly [one: string, many: string, bad: string]>> = {
  session_runs: ["run of a session", "runs of sessions", ""],
  executions: ["call", "calls", "NaN or ∞ in or out of it"],
  graph_executions: ["tensor", "tensors", "NaN or ∞ in it"],
  op_times: ["op that TensorFlow timed", "ops that TensorFlow timed", "NaN or ∞ in what it computed"],
};

/** What a mark is in words, a part a line. */
export function markWords(mark: Mark, axis: TimelineAxis, zero: number): readonly string[] {
  const [one, many, bad] = NOUNS[mark.list];
  const at = placeWords(mark.begin, axis, zero);
  if (mark.kind === "bin") {
    const first = mark.firstBad === undefined ? [] : [`the first bad one is #${grouped(mark.firstBad)}`];
    const words = mark.bad === 0 ? "none of them bad" : `${grouped(mark.bad)} of them bad`;
    return [counted(mark.count, one, many), words, ...first, `at ${at}`];
  }
  const isPoint = axis === "sequence" || mark.end === mark.begin;
  const most = TIMED.has(mark.list) ? "" : "at most ";
  return [
    mark.list === "session_runs" || mark.position === undefined
      ? mark.name
      : `#${grouped(mark.position)} ${displayName(mark.name)}`,
    KINDS[mark.list]?.(mark.type) ?? one,
    ...(mark.list === "session_runs" && mark.type !== "" ? [`ended by ${mark.type}`] : []),
    ...(mark.bad ? [bad] : []),
    isPoint ? `at ${at}` : `at ${at}, for ${most}${secondsWords(mark.end - mark.begin)}`,
  ];
}

/** What a row is, where its type says that. */
const KINDS: Partial<Readonly<Record<TimelineList, (type: string) => string>>> = {
  graph_executions: (type) => `tensor of the op type ${type}`,
  op_times: (type) =>
    type === "" ? "op that TensorFlow made" : `op of the type ${type}, as TensorFlow timed it`,
};

/** Bad and measured rows of equal parts of the whole run, for a minimap. */
export function overviewOf(answer: Timeline) {
  const parts = answer.num_bins;
  const bad = new Array<number>(parts).fill(0);
  const measured = new Array<number>(parts).fill(0);
  for (const mark of pictureOf(answer, answer, parts).marks.flat()) {
    if (mark.list === "op_times") continue; // its tensors are counted
    const part = Math.max(
      0,
      Math.min(parts - 1, Math.floor(mark.kind === "row" ? mark.x + mark.width : mark.x)),
    );
    measured[part] = (measured[part] ?? 0) + (mark.kind === "row" ? 1 : mark.count);
    bad[part] = (bad[part] ?? 0) + (mark.kind === "row" ? Number(mark.bad) : mark.bad);
  }
  return { total: parts, bad, measured };
}
