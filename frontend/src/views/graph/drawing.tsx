/** The boxes and links of a picture of a graph, as SVG. */
import { useMemo } from "preact/hooks";
import type { GraphId } from "../../base/ids";
import {
  type Box,
  framed,
  hasMore,
  type Layout,
  LINE,
  moreWords,
  nodeLines,
  PADDING,
  pathOf,
  type Route,
} from "../../model/graph/layout";
import {
  type GraphLink,
  type GraphNode,
  type GraphPicture,
  linkLines,
  linkWords,
  nodeWords,
} from "../../model/graph/picture";
import type { Viewport } from "../../model/graph/viewport";
import type { Size } from "../hooks";

interface Acts {
  readonly act: (node: GraphNode) => void;
  /** Goes into a function that an op runs. */
  readonly enter: (graph: GraphId) => void;
}

interface DrawingProps extends Acts {
  readonly picture: GraphPicture;
  readonly layout: Layout;
  readonly view: Viewport;
  readonly size: Size;
  /** The box that the keys are at. */
  readonly cursor: string | undefined;
}

const HEADS = ["plain", "bad", "way"] as const;
const LINK_LINE = 12;

export function Drawing({ picture, layout, view, size, cursor, act, enter }: DrawingProps) {
  // A move of the picture draws no box again. What the acts need of the page does not change.
  const scene = useMemo(
    () => <Scene picture={picture} layout={layout} cursor={cursor} act={act} enter={enter} />,
    [picture, layout, cursor],
  );
  return (
    // biome-ignore lint/a11y/noSvgWithoutTitle: its frame has a name, and each of its parts.
    <svg class="graph-svg" width={size.width} height={size.height}>
      <defs>
        {HEADS.map((name) => (
          <Head key={name} name={name} />
        ))}
      </defs>
      <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>{scene}</g>
    </svg>
  );
}

function Head({ name }: { readonly name: (typeof HEADS)[number] }) {
  return (
    <marker
      id={`graph-head-${name}`}
      viewBox="0 0 8 8"
      refX={7}
      refY={4}
      markerWidth={9}
      markerHeight={9}
      markerUnits="userSpaceOnUse"
      orient="auto"
    >
      <path class={`graph-head graph-head-${name}`} d="M0,0 L8,4 L0,8 z" />
    </marker>
  );
}

/** Links that matter are above the others, and boxes above all links. */
function Scene({ picture, layout, cursor, act, enter }: Omit<DrawingProps, "view" | "size">) {
  const { nodes, links } = picture;
  const boxes = new Map(
    nodes.flatMap((node) => {
      const box = layout.boxes.get(node.key);
      return box === undefined ? [] : [[node.key, framed(box, node)] as const];
    }),
  );
  const ordered = [...links].sort((a, b) => weight(a) - weight(b));
  return (
    <>
      {ordered.map((link) => (
        <LinkShape
          key={link.key}
          link={link}
          boxes={boxes}
          route={layout.routes.get(link.key)}
          cursor={cursor}
        />
      ))}
      {nodes.map((node) => {
        const box = boxes.get(node.key);
        return (
          box && <NodeShape key={node.key} {...{ node, box, act, enter }} isCursor={node.key === cursor} />
        );
      })}
    </>
  );
}

function weight({ kind, mark, isOnWay }: GraphLink): number {
  return (kind === "control" ? -1 : 0) + (mark.level === "bad" ? 1 : 0) + (isOnWay ? 2 : 0);
}

interface LinkProps {
  readonly link: GraphLink;
  readonly boxes: ReadonlyMap<string, Box>;
  readonly route: Route | undefined;
  readonly cursor: string | undefined;
}

function LinkShape({ link, boxes, route, cursor }: LinkProps) {
  const [from, to] = [boxes.get(link.from), boxes.get(link.to)];
  if (from === undefined || to === undefined) return null;
  const head = link.isOnWay ? "way" : link.mark.level === "bad" ? "bad" : "plain";
  const lines = linkLines(link);
  const isOfCursor = link.from === cursor || link.to === cursor;
  // Of the many that go far, those of one box are seen.
  const isFaint = route === undefined && link.kind !== "control" && !isOfCursor && head !== "way";
  const look = isOfCursor ? "graph-link-touched" : isFaint ? "graph-link-faint" : "";
  return (
    <g class={`graph-link graph-link-${head} graph-link-${link.kind} ${look}`} data-testid="graph-link">
      <title>{linkWords(link)}</title>
      <path class="graph-line" d={pathOf(from, to, route)} marker-end={`url(#graph-head-${head})`} />
      {route !== undefined && lines.length > 0 && <LinkText link={link} lines={lines} {...route.label} />}
    </g>
  );
}

interface LinkTextProps {
  readonly link: GraphLink;
  readonly lines: readonly string[];
  readonly x: number;
  readonly y: number;
}

/** The first line is above the link, the others below it. */
function LinkText({ link, lines, x, y }: LinkTextProps) {
  return lines.map((line, i) => (
    <text
      key={line}
      class={`graph-words ${i === 0 ? `graph-mark-${link.mark.level}` : ""}`}
      x={x}
      y={i === 0 ? y - 4 : y + LINK_LINE * i - 1}
    >
      {line}
    </text>
  ));
}

interface NodeProps extends Acts {
  readonly node: GraphNode;
  readonly box: Box;
  readonly isCursor: boolean;
}

function NodeShape({ node, box: { x, y, width, height }, isCursor, act, enter }: NodeProps) {
  return (
    <g
      class={nodeClass(node, isCursor)}
      transform={`translate(${x} ${y})`}
      role="button"
      aria-label={nodeWords(node)}
      data-node={node.key}
      data-testid="graph-node"
      onClick={() => act(node)}
    >
      <title>{nodeWords(node)}</title>
      {node.kind === "group" && (
        <rect class="graph-behind" x={4} y={4} width={width} height={height} rx={4} />
      )}
      <rect class="graph-box" width={width} height={height} rx={4} />
      <NodeText node={node} width={width} enter={enter} />
      {hasMore(node) && <More node={node} width={width} height={height} />}
    </g>
  );
}

function nodeClass({ kind, mark, isFocus, isOnWay, isFirst }: GraphNode, isCursor: boolean): string {
  const words = [
    "graph-node",
    `graph-node-${kind}`,
    `graph-node-${mark.level}`,
    isFocus && "graph-node-focus",
    isOnWay && "graph-node-way",
    isFirst && "graph-node-first",
    isCursor && "graph-node-cursor",
  ];
  return words.filter(Boolean).join(" ");
}

function NodeText({
  node,
  width,
  enter,
}: { readonly node: GraphNode; readonly width: number } & Pick<Acts, "enter">) {
  const lines = nodeLines(node);
  const firstRun = lines.length - node.runs.length;
  return (
    <>
      {lines.slice(0, firstRun).map((line, i) => (
        <text key={line} class={i === 0 ? "graph-title" : "graph-note"} x={PADDING} y={LINE * (i + 1)}>
          {line}
        </text>
      ))}
      {node.runs.map(({ graph }, i) => (
        <text
          key={graph}
          class="graph-runs"
          role="button"
          x={PADDING}
          y={LINE * (firstRun + i + 1)}
          data-testid="graph-runs"
          onClick={(event) => {
            event.stopPropagation();
            enter(graph);
          }}
        >
          {lines[firstRun + i]}
        </text>
      ))}
      <text class={`graph-sign graph-mark-${node.mark.level}`} x={width - PADDING} y={LINE * 2}>
        {node.mark.sign}
      </text>
    </>
  );
}

/** How many ops are not drawn on either side, below the box. */
function More({
  node,
  width,
  height,
}: {
  readonly node: GraphNode;
  readonly width: number;
  readonly height: number;
}) {
  const [before, after] = moreWords(node);
  return (
    <g class="graph-more">
      <text x={0} y={height + 12} data-testid="graph-more-before">
        {before}
      </text>
      <text class="graph-more-after" x={width} y={height + 12} data-testid="graph-more-after">
        {after}
      </text>
    </g>
  );
}
