/**
 * Links: the parts of the state that a link restores, as keys in the host's hash:
 * `#debugger&p.debugger.trace=51`. The first version has no number; a later version that changes the meaning
 * of a key will add `p.debugger.v`.
 */
import { PARTS, type Part, type ValueRef } from "../api/values";
import * as ids from "../base/ids";
import { readRef, writeRef } from "./values/value_ref";

export interface Link {
  readonly run?: ids.RunName | undefined;
  /** The run that it is compared with. */
  readonly other?: ids.RunName | undefined;
  readonly execution?: ids.ExecutionIndex | undefined;
  readonly trace?: ids.GraphExecutionIndex | undefined;
  readonly graph?: ids.GraphId | undefined;
  readonly op?: string | undefined;
  readonly frame?: ids.FrameId | undefined;
  /** A line of a source file that was chosen without a stack frame. */
  readonly file?: ids.FileIndex | undefined;
  readonly line?: number | undefined;
  /** The filter for graph executions. */
  readonly host?: string | undefined;
  readonly layer?: string | undefined;
  readonly onlyBad?: true | undefined;
  /** The alert rule whose alerts are shown. */
  readonly alertType?: string | undefined;
  /** The alert in focus, as a position in the list that is shown. */
  readonly alert?: ids.AlertIndex | undefined;
  /** Whose stack is shown. */
  readonly subject?: "execution" | "op" | undefined;
  /** The value that is shown, with its slice and how it is drawn. */
  readonly value?: ValueRef | undefined;
  readonly slicing?: string | undefined;
  readonly swapped?: true | undefined;
  readonly tab?: "table" | undefined;
  readonly part?: Part | undefined;
}

const PLUGIN = "debugger";
const PREFIX = `p.${PLUGIN}.`;

export function readLink(hash: string): Link {
  const values = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [key, value] = split(part);
    if (key.startsWith(PREFIX) && value !== undefined) values.set(key.slice(PREFIX.length), value);
  }
  const subject = values.get("subject");
  return compactLink({
    run: map(values.get("run"), ids.runName),
    other: map(values.get("other"), ids.runName),
    execution: map(position(values.get("execution")), ids.executionIndex),
    trace: map(position(values.get("trace")), ids.graphExecutionIndex),
    graph: map(values.get("graph"), ids.graphId),
    op: values.get("op"),
    frame: map(values.get("frame"), ids.frameId),
    file: map(position(values.get("file")), ids.fileIndex),
    line: position(values.get("line")),
    host: values.get("host"),
    layer: values.get("layer"),
    onlyBad: values.get("onlyBad") === "true" ? true : undefined,
    alertType: values.get("alertType"),
    alert: map(position(values.get("alert")), ids.alertIndex),
    subject: subject === "execution" || subject === "op" ? subject : undefined,
    ...valueParts(values),
  });
}

/** The hash with the plugin's keys replaced; other keys stay as they are. */
export function writeLink(hash: string, link: Link): string {
  const [tab, ...rest] = hash.replace(/^#/, "").split("&");
  const others = rest.filter((part) => part !== "" && !split(part)[0].startsWith(PREFIX));
  const ours = Object.entries(link)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${PREFIX}${key}=${encodeURIComponent(textOf(value))}`);
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

/** The value view; without a value there is none. */
function valueParts(values: ReadonlyMap<string, string>): Link {
  const value = map(values.get("value"), readRef);
  if (value === undefined) return {};
  return {
    value,
    slicing: values.get("slicing"),
    swapped: values.get("swapped") === "true" ? true : undefined,
    tab: values.get("tab") === "table" ? "table" : undefined,
    part: PARTS.find((part) => part === values.get("part")),
  };
}

function textOf(value: string | number | true | ValueRef): string {
  return typeof value === "object" ? writeRef(value) : String(value);
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

function position(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function map<A, B>(value: A | undefined, make: (value: A) => B): B | undefined {
  return value === undefined ? undefined : make(value);
}

function compactLink(link: Link): Link {
  return Object.fromEntries(Object.entries(link).filter(([, value]) => value !== undefined));
}
