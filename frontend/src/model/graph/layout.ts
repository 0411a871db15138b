/** Where a picture of a graph has its boxes and links: the sizes that are laid out, and what is found in it. */
import { curve } from "../card_layout";
import { type GraphLink, type GraphNode, type GraphPicture, linkLines } from "./picture";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A box, by its upper left corner. */
export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** The points between the ends of a link, and the middle of its words. */
export interface Route {
  readonly points: readonly Point[];
  readonly label: Point;
}

interface Sized {
  readonly key: string;
  readonly width: number;
  readonly height: number;
}

/** What is laid out from left to right. */
export interface Unplaced {
  readonly nodes: readonly Sized[];
  readonly links: readonly (Sized & { readonly from: string; readonly to: string })[];
}

/** Where boxes and links are, by their keys. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly boxes: ReadonlyMap<string, Box>;
  readonly routes: ReadonlyMap<string, Route>;
}

export const EMPTY: Layout = { width: 0, height: 0, boxes: new Map(), routes: new Map() };

/** The width of a letter of titles and other words of boxes, and of links, and the height of a line. */
const LETTER = { title: 7.6, node: 6.6, link: 5.6 } as const;
export const LINE = 16;
const LINK_LINE = 12;
/** The space around the words of a box. */
export const PADDING = 8;
const LONGEST = 30;

/** A name in a box; the middle of a long one is left out, because its ends differ. */
export function shortened(name: string): string {
  const half = Math.floor((LONGEST - 1) / 2);
  return name.length <= LONGEST ? name : `${name.slice(0, half)}…${name.slice(-half)}`;
}

/** The lines of a box: its title, its type, the function it is in, and the functions that it runs. */
export function nodeLines({ title, note, place, runs }: GraphNode): readonly string[] {
  const more = [...(place === undefined ? [] : [`in ${place}`]), ...runs.map(({ name }) => `runs ${name}`)];
  return [title, note, ...more].map(shortened);
}

export function hasMore({ before, after }: GraphNode): boolean {
  return before + after > 0;
}

/** What stands below a box: how many ops are not drawn on its left, and on its right; empty for none. */
export function moreWords({ before, after }: GraphNode): readonly [string, string] {
  return [before > 0 ? `← +${before} more` : "", after > 0 ? `+${after} more →` : ""];
}

/** What is laid out; links without a tensor, and far ones of a large picture, follow the boxes. */
export function unplaced({ nodes, links }: GraphPicture): Unplaced {
  const withTensors = links.filter(({ kind }) => kind !== "control");
  return {
    nodes: nodes.map((node) => ({ key: node.key, ...nodeSize(node) })),
    links: nearLinks(nodes, withTensors).map(sizedLink),
  };
}

/** The boxes that a link passes before it is far. */
const FAR = 10;
/** The boxes that all links of a picture may pass: each is a place to lay out, and a route to draw. */
const MOST_PASSED = 4000;

/**
 * All links, or of a large picture those that do not go far: in a training step, each layer gives tensors to its
 * gradient, which is hundreds of boxes later. To lay them out takes twenty times as long, and makes a picture
 * three times as high.
 */
function nearLinks(nodes: readonly GraphNode[], links: readonly GraphLink[]): readonly GraphLink[] {
  const ranks = ranksOf(nodes, links);
  const passed = ({ from, to }: GraphLink) => Math.abs((ranks.get(to) ?? 0) - (ranks.get(from) ?? 0));
  const all = links.reduce((sum, link) => sum + passed(link), 0);
  return all <= MOST_PASSED ? links : links.filter((link) => passed(link) <= FAR);
}

/** The most links that lead from any box to each box; a link that closes a circle does not count. */
function ranksOf(nodes: readonly GraphNode[], links: readonly GraphLink[]): ReadonlyMap<string, number> {
  const takers = new Map(nodes.map(({ key }) => [key, [] as string[]]));
  for (const { from, to } of links) takers.get(from)?.push(to);
  const open = new Set<string>();
  /** The boxes after those that they give to, with these. */
  const done = new Map<string, readonly string[]>();
  const visit = (key: string) => {
    open.add(key);
    const on = (takers.get(key) ?? []).filter((to) => !open.has(to));
    for (const to of on) if (!done.has(to)) visit(to);
    open.delete(key);
    done.set(key, on);
  };
  for (const { key } of nodes) if (!done.has(key)) visit(key);
  const ranks = new Map<string, number>();
  for (const [key, on] of [...done].reverse())
    for (const to of on) ranks.set(to, Math.max(ranks.get(to) ?? 0, (ranks.get(key) ?? 0) + 1));
  return ranks;
}

function nodeSize(node: GraphNode): { readonly width: number; readonly height: number } {
  const lines = nodeLines(node);
  // The sign of the health stands beside the type.
  const longest = Math.max(
    ...lines.map((line, i) =>
      i === 0
        ? line.length * LETTER.title
        : (line.length + (i === 1 ? node.mark.sign.length + 3 : 0)) * LETTER.node,
    ),
  );
  const more = hasMore(node) ? LINE : 0;
  const moreLetters = moreWords(node).join("   ").length;
  return {
    width: Math.max(96, Math.ceil(longest) + 2 * PADDING, Math.ceil(moreLetters * LETTER.node)),
    height: lines.length * LINE + PADDING + more,
  };
}

function sizedLink(link: GraphLink) {
  const lines = linkLines(link);
  const letters = Math.max(0, ...lines.map((line) => line.length));
  return {
    key: link.key,
    from: link.from,
    to: link.to,
    width: Math.ceil(letters * LETTER.link) + 8,
    height: lines.length * LINK_LINE,
  };
}

/** The part of a box that is framed: what is left out stands below it. */
export function framed(box: Box, node: GraphNode): Box {
  return hasMore(node) ? { ...box, height: box.height - LINE } : box;
}

/**
 * A link as an SVG path, from the right side of a box to the left side of another one. Without a route, it goes
 * over the boxes between them.
 */
export function pathOf(from: Box, to: Box, route: Route | undefined): string {
  if (route === undefined) return arc(from, to);
  const isForward = from.x <= to.x;
  const start = { x: isForward ? from.x + from.width : from.x, y: from.y + from.height / 2 };
  const end = { x: isForward ? to.x : to.x + to.width, y: to.y + to.height / 2 };
  // The first and the last point are where the link meets the boxes.
  const points = [start, ...route.points.slice(1, -1), end];
  return points
    .slice(1)
    .map((point, i) => curve((points[i] as Point).x, (points[i] as Point).y, point.x, point.y))
    .join(" ");
}

function arc(from: Box, to: Box): string {
  const [start, end] = [from.x + from.width / 2, to.x + to.width / 2];
  const top = Math.min(from.y, to.y) - 16 - Math.min(60, Math.abs(end - start) / 8);
  return `M${start},${from.y} C${start},${top} ${end},${top} ${end},${to.y}`;
}

/** The box that an arrow key leads to from another one; undefined when there is none on that side. */
export function neighbourOf(
  key: string | undefined,
  arrow: string,
  { boxes }: Layout,
  links: readonly GraphLink[],
): string | undefined {
  const here = boxes.get(key ?? "");
  if (here === undefined) return undefined;
  const distance = (other: Box) => Math.abs(middle(other) - middle(here)) + Math.abs(other.x - here.x) / 4;
  const nearest = (keys: readonly string[]) =>
    keys
      .filter((other) => boxes.has(other))
      .sort((a, b) => distance(boxes.get(a) as Box) - distance(boxes.get(b) as Box))[0];
  if (arrow === "ArrowLeft") return nearest(links.filter(({ to }) => to === key).map(({ from }) => from));
  if (arrow === "ArrowRight") return nearest(links.filter(({ from }) => from === key).map(({ to }) => to));
  const sign = { ArrowUp: -1, ArrowDown: 1 }[arrow];
  if (sign === undefined) return undefined;
  const isBeside = (box: Box) => box.x < here.x + here.width && here.x < box.x + box.width;
  const column = [...boxes].filter(([, box]) => isBeside(box) && sign * (middle(box) - middle(here)) > 0);
  return nearest(column.map(([other]) => other));
}

function middle({ y, height }: Box): number {
  return y + height / 2;
}
