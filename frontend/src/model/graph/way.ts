/** The way of a bad value through a part of a graph: from op to op of its chain, and the tensors between them. */

interface Between {
  readonly source: number;
  readonly target: number;
}

/** Ops between two of the chain, which only pass the value on. */
const MOST_BETWEEN = 8;

/**
 * The positions of the ops on the way, and the edges between them. `keys` are those of the ops, and `way` those
 * of the chain from the birth on, some of which may be elsewhere.
 */
export function wayThrough<E extends Between>(
  keys: readonly string[],
  edges: readonly E[],
  way: readonly string[],
): { readonly ops: ReadonlySet<number>; readonly edges: ReadonlySet<E> } {
  const ops = new Set(way.map((key) => keys.indexOf(key)).filter((at) => at >= 0));
  const found = new Set<E>();
  const after = new Map<number, E[]>();
  for (const edge of edges) after.set(edge.source, [...(after.get(edge.source) ?? []), edge]);
  way.forEach((key, i) => {
    const [from, to] = [keys.indexOf(key), keys.indexOf(way[i + 1] ?? "")];
    if (from < 0 || to < 0) return;
    for (const edge of shortest(from, to, after)) {
      found.add(edge);
      ops.add(edge.source).add(edge.target);
    }
  });
  return { ops, edges: found };
}

/** The edges of the shortest way; none when it is too long. */
function shortest<E extends Between>(
  from: number,
  to: number,
  after: ReadonlyMap<number, readonly E[]>,
): readonly E[] {
  const last = new Map<number, E | undefined>([[from, undefined]]);
  let front = [from];
  for (let n = 0; n <= MOST_BETWEEN && !last.has(to); n++) {
    const edges = front.flatMap((at) => after.get(at) ?? []).filter(({ target }) => !last.has(target));
    for (const edge of edges) if (!last.has(edge.target)) last.set(edge.target, edge);
    front = [...new Set(edges.map(({ target }) => target))];
  }
  const way: E[] = [];
  for (let edge = last.get(to); edge !== undefined; edge = last.get(edge.source)) way.unshift(edge);
  return way;
}
