/** The results of a search as groups of matches, one group a kind, the kind with the closest name first. */
import type { Found } from "../api/answers";
import type { FileIndex, GraphId } from "../base/ids";
import { basename, counted } from "../base/text";
import { displayName, tensorName } from "./names";

/** Where a match leads. */
export type Jump =
  | {
      readonly kind: "op";
      readonly graph: GraphId;
      /** As recorded; undefined when it is not known. */
      readonly graphName: string | undefined;
      readonly opName: string;
      /** Undefined for any output. */
      readonly slot: number | undefined;
    }
  | { readonly kind: "function"; readonly graph: GraphId; readonly name: string }
  | { readonly kind: "layer"; readonly name: string }
  | { readonly kind: "line"; readonly file: FileIndex; readonly line: number };

/** A match that is a verb of the page. */
export interface Act {
  readonly kind: "command";
  readonly act: () => unknown;
}

export interface Match<To = Jump> {
  readonly title: string;
  /** Its kind, or what distinguishes it from others of the same name. */
  readonly note: string;
  readonly jump: To;
}

export interface Group<To = Jump> {
  readonly title: string;
  readonly matches: readonly Match<To>[];
  /** Whether the server has more of the kind than are listed. */
  readonly more: boolean;
}

/** The number of matches listed of a kind. One more is requested, to know whether there are more. */
export const LISTED = 8;

export function groupsOf(answer: Found, text: string): readonly Group[] {
  const groups = [
    group("Tensors", answer.tensors.map(tensorMatch)),
    group("Ops", answer.ops.map(opMatch)),
    group("Layers", answer.layers.map(layerMatch)),
    group("Variables and their gradients", answer.variables.flatMap(variableMatches)),
    group("Functions", answer.functions.map(functionMatch)),
    group("Source files", answer.files.map(fileMatch)),
    group("Source lines", answer.lines.map(lineMatch)),
  ].filter(({ matches }) => matches.length > 0);
  const query = text.toLowerCase();
  return groups
    .map((entry) => ({
      entry,
      rank: Math.min(...entry.matches.map((match) => rankOf(match.title, query))),
    }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry);
}

/** All matches in the order of the list. */
export function matchesOf<To>(groups: readonly Group<To>[]): readonly Match<To>[] {
  return groups.flatMap(({ matches }) => matches);
}

function group(title: string, matches: readonly Match[]): Group {
  return { title, matches: matches.slice(0, LISTED), more: matches.length > LISTED };
}

/** 0 if the name is the text, 1 if its last part is, 2 if it begins with the text, else 3. */
function rankOf(title: string, query: string): number {
  const name = title.toLowerCase();
  if (name === query) return 0;
  if (name.endsWith(`/${query}`)) return 1;
  return name.startsWith(query) ? 2 : 3;
}

function tensorMatch(answer: Found["tensors"][number]): Match {
  const match = opMatch(answer);
  const slot = answer.output_slot;
  return { ...match, title: tensorName(answer.op_name, slot), jump: { ...match.jump, slot } as Jump };
}

function opMatch({ graph_id: graph, graph_name: graphName, op_name, op_type }: Found["ops"][number]): Match {
  const where = graphName === undefined ? undefined : `in ${displayName(graphName)}`;
  return {
    title: op_name,
    note: [op_type, where].filter(Boolean).join(" "),
    jump: { kind: "op", graph, graphName, opName: op_name, slot: undefined },
  };
}

function layerMatch({ name, num_ops }: Found["layers"][number]): Match {
  return {
    title: name,
    note: `only its tensors, of ${counted(num_ops, "op")}`,
    jump: { kind: "layer", name },
  };
}

/** A variable leads to the first op that uses it; each of its gradients leads to its own op. */
function variableMatches(variable: Found["variables"][number]): readonly Match[] {
  const opOf = (at: { graph_id: GraphId; op_name: string }, slot: number | undefined): Jump => ({
    kind: "op",
    graph: at.graph_id,
    graphName: undefined,
    opName: at.op_name,
    slot,
  });
  return [
    { title: variable.name, note: `first at ${variable.op_name}`, jump: opOf(variable, undefined) },
    ...variable.gradients.map((gradient) => ({
      title: `∇ ${variable.name}`,
      note: tensorName(gradient.op_name, gradient.output_slot),
      jump: opOf(gradient, gradient.output_slot),
    })),
  ];
}

function functionMatch({ graph_id: graph, name }: Found["functions"][number]): Match {
  const shown = displayName(name);
  return { title: shown, note: shown === name ? "" : name, jump: { kind: "function", graph, name } };
}

function fileMatch({ index, file_path }: Found["files"][number]): Match {
  return { title: basename(file_path), note: file_path, jump: { kind: "line", file: index, line: 1 } };
}

function lineMatch({ index, file_path, line, text }: Found["lines"][number]): Match {
  return {
    title: `${basename(file_path)}:${line}`,
    note: text.trim(),
    jump: { kind: "line", file: index, line },
  };
}
