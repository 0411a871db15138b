/**
 * Links: the parts of the state that a link restores, as keys in the host's hash:
 * `#debugger&p.debugger.trace=51`. The first version has no number; a later version that changes the meaning
 * of a key will add `p.debugger.v`.
 */
import { KINDS } from "../api/routes";
import { PARTS, type ValueRef } from "../api/values";
import * as ids from "../base/ids";
import { type Filter, type RowOrder, readFilter, readOrder, writeFilter, writeOrder } from "./filters";
import { readSpan, type Span, writeSpan } from "./timeline/window";
import { readRef, writeRef } from "./values/value_ref";

const PLUGIN = "debugger";
const PREFIX = `p.${PLUGIN}.`;

const isTrue = (text: string) => (text === "true" ? true : undefined);
const oneOf =
  <T extends string>(...words: readonly T[]) =>
  (text: string): T | undefined =>
    words.find((word) => word === text);
const at =
  <T>(brand: (n: number) => T) =>
  (text: string): T | undefined =>
    map(position(text), brand);

/** The panels that a link opens. */
export const PANELS = ["glance", "timeline", "graph", "gradients"] as const;

/** How each part is read; one that cannot be read is left out. */
const READERS = {
  run: ids.runName,
  /** The run that it is compared with. */
  other: ids.runName,
  execution: at(ids.executionIndex),
  trace: at(ids.graphExecutionIndex),
  graph: ids.graphId,
  op: String,
  frame: ids.frameId,
  /** A line of a source file that was chosen without a stack frame. */
  file: at(ids.fileIndex),
  line: position,
  /** The list below the timeline, its filter and its order. */
  list: oneOf("graph_executions", "executions", ...KINDS),
  filter: readFilter,
  sort: readOrder,
  /** The filter for graph executions in links of earlier versions. */
  host: String,
  layer: String,
  onlyBad: isTrue,
  /** The alert rule whose alerts are shown. */
  alertType: String,
  /** The alert in focus, as a position in the list that is shown. */
  alert: at(ids.alertIndex),
  /** Whose stack is shown. */
  subject: oneOf("execution", "op"),
  /** The value that is shown, with its slice and how it is drawn. */
  value: readRef,
  slicing: String,
  swapped: isTrue,
  tab: oneOf("table", "curve"),
  /** The number that is drawn of its tensor. */
  number: String,
  part: oneOf(...PARTS),
  /** What is shown in place of the recording. */
  panel: oneOf(...PANELS),
  /** The axis of the timeline, when it is not time, and the part that is seen. */
  axis: oneOf("sequence"),
  window: readSpan,
};

export type Link = {
  readonly [K in keyof typeof READERS]?: ReturnType<(typeof READERS)[K]> | undefined;
};

export function readLink(hash: string): Link {
  const values = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [key, value] = split(part);
    if (key.startsWith(PREFIX) && value !== undefined) values.set(key.slice(PREFIX.length), value);
  }
  const parts = Object.entries<(text: string) => unknown>(READERS).map(([key, read]) => [
    key,
    map(values.get(key), read),
  ]);
  const link: Link = Object.fromEntries(parts.filter(([, value]) => value !== undefined));
  if (link.value !== undefined) return link;
  // Without a value there is no view of one.
  const { slicing: _, swapped: __, tab: ___, part: ____, number: _____, ...rest } = link;
  return rest;
}

/** The hash with the plugin's keys replaced; other keys stay as they are. */
export function writeLink(hash: string, link: Link): string {
  const [tab, ...rest] = hash.replace(/^#/, "").split("&");
  const others = rest.filter((part) => part !== "" && !split(part)[0].startsWith(PREFIX));
  const ours = Object.entries(link).flatMap(([key, value]) =>
    value === undefined ? [] : [`${PREFIX}${key}=${encodeURIComponent(textOf(value))}`],
  );
  return `#${[tab || PLUGIN, ...others, ...ours].join("&")}`;
}

/** The part of an address with the key that commands need; it is in no link. */
const KEY = `${PREFIX}key`;

/** The key in a hash, or in a link that ends in one; undefined when there is none. */
export function keyIn(text: string): string | undefined {
  const parts = text.slice(text.indexOf("#") + 1).split("&");
  return parts
    .map(split)
    .find(([name]) => name === KEY)?.[1]
    ?.trim();
}

/** The hash without the key. */
export function withoutKey(hash: string): string {
  const parts = hash.replace(/^#/, "").split("&");
  return `#${parts.filter((part) => split(part)[0] !== KEY).join("&")}`;
}

function textOf(value: string | number | true | ValueRef | Filter | RowOrder | Span): string {
  if (typeof value !== "object") return String(value);
  if ("begin" in value) return writeSpan(value);
  if ("column" in value) return writeOrder(value);
  return "kind" in value ? writeRef(value) : writeFilter(value);
}

/** Whether the hash is that of the plugin's tab. An empty one is, if the plugin is the first active one. */
export function isOurs(hash: string): boolean {
  const tab = hash.replace(/^#/, "").split("&")[0];
  return tab === "" || tab === PLUGIN;
}

function split(part: string): [string, string | undefined] {
  const at = part.indexOf("=");
  return at < 0 ? [decode(part), undefined] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
}

/** Decodes a part of a link; a part of a hand-made link that cannot be decoded stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function position(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function map<A, B>(value: A | undefined, make: (value: A) => B): B | undefined {
  return value === undefined ? undefined : make(value);
}
