/**
 * Lays out a graph from left to right in layers, with dagre. A worker that runs this file lays out what it is
 * sent; where workers are refused, the page imports it.
 */
import { Graph, layout } from "@dagrejs/dagre";
import type { Box, Layout, Route, Unplaced } from "../../model/graph/layout";

const SPACE = { nodesep: 18, edgesep: 10, ranksep: 26, marginx: 2, marginy: 2 } as const;

export function layered({ nodes, links }: Unplaced): Layout {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", ...SPACE });
  for (const { key, width, height } of nodes) graph.setNode(key, { width, height });
  for (const { key, from, to, width, height } of links)
    graph.setEdge(from, to, { width, height, labelpos: "c" }, key);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return { width, height, boxes: boxesOf(graph), routes: routesOf(graph) };
}

function boxesOf(graph: Graph): ReadonlyMap<string, Box> {
  return new Map(
    graph.nodes().map((key) => {
      const { x = 0, y = 0, width, height } = graph.node(key);
      return [key, { x: x - width / 2, y: y - height / 2, width, height }];
    }),
  );
}

function routesOf(graph: Graph): ReadonlyMap<string, Route> {
  return new Map(
    graph.edges().map((edge) => {
      const { points = [], x = 0, y = 0 } = graph.edge(edge);
      return [edge.name ?? "", { points, label: { x, y } }];
    }),
  );
}

if ("WorkerGlobalScope" in globalThis)
  globalThis.onmessage = ({ data }: MessageEvent<Unplaced>) => globalThis.postMessage(layered(data));
