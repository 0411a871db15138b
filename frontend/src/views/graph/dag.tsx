/** A picture of a graph that is laid out: it can be moved, zoomed, walked through with keys, and saved. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Box, type Layout, neighbourOf } from "../../model/graph/layout";
import { type GraphNode, type GraphPicture, nodeWords } from "../../model/graph/picture";
import {
  beginning,
  centred,
  fitted,
  moved,
  revealed,
  type Viewport,
  zoomed,
} from "../../model/graph/viewport";
import { drag, NO_SIZE, type Size, useSize } from "../hooks";
import { Button, IconButton } from "../panel";
import type { Of, With } from "../props";
import { Drawing } from "./drawing";

interface DagProps extends With<"focusGraph" | "follow" | "graph"> {
  readonly picture: GraphPicture;
  readonly layout: Layout;
  /** Whether another picture is on its way. */
  readonly isOld: boolean;
}

const KEYS =
  "the arrow keys go along the links, Enter brings an op into focus, 1 to 6 choose the hops, plus and minus zoom, 0 shows all";

export function Dag({ store, picture, layout, isOld }: DagProps) {
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const { view, setView } = useViewport(picture, layout, size);
  const { cursor, choose } = useCursor(picture);
  const tools: ViewTools = { view, setView, picture, layout, size };
  const act = (node: GraphNode) => {
    choose(node.key);
    if (node.opens !== undefined) store.graph.openBox(node.opens);
    else store.follow(node.target);
  };
  return (
    <div class="graph-picture pile slim short grow">
      <div
        ref={frame}
        class={`graph-frame short grow ${isOld ? "graph-old" : ""}`}
        role="application"
        aria-label={`The graph: ${KEYS}`}
        aria-busy={isOld}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys are its own.
        tabIndex={0}
        data-testid="graph-frame"
        onKeyDown={(event) => takeKey(event, store, tools, { cursor, choose, act })}
        onPointerDown={(event) => press(event, tools)}
        onWheel={(event) => roll(event, tools)}
      >
        <Drawing {...tools} cursor={cursor?.key} act={act} enter={(graph) => void store.focusGraph(graph)} />
      </div>
      <ViewButtons {...tools} frame={frame} words={cursor === undefined ? "" : nodeWords(cursor)} />
    </div>
  );
}

interface Cursor {
  readonly cursor: GraphNode | undefined;
  readonly choose: (key: string) => void;
  readonly act: (node: GraphNode) => void;
}

function takeKey(event: KeyboardEvent, { graph }: Of<"graph">, tools: ViewTools, cursor: Cursor): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isEnter = event.key === "Enter" || event.key === " ";
  if (isEnter && cursor.cursor !== undefined) cursor.act(cursor.cursor);
  else if (/^[1-6]$/.test(event.key)) graph.setHops(Number(event.key));
  else if (event.shiftKey || !walk(event.key, tools, cursor)) {
    if (!viewKey(event.key, tools)) return;
  }
  event.preventDefault();
}

/** Goes to the next box in the direction of an arrow; returns whether there is one. */
function walk(arrow: string, { view, setView, picture, layout, size }: ViewTools, at: Cursor): boolean {
  const to = neighbourOf(at.cursor?.key, arrow, layout, picture.links);
  const box = layout.boxes.get(to ?? "");
  if (to === undefined || box === undefined) return false;
  at.choose(to);
  setView(revealed(view, box, size));
  return true;
}

/** The box that the keys are at: the one in focus, until they go to another one. */
function useCursor({ nodes }: GraphPicture) {
  const [chosen, choose] = useState<string>();
  const focus = nodes.find(({ isFocus }) => isFocus);
  useEffect(() => choose(undefined), [focus?.key]);
  return { cursor: nodes.find(({ key }) => key === chosen) ?? focus ?? nodes[0], choose };
}

interface ViewTools {
  readonly view: Viewport;
  readonly setView: (view: Viewport) => void;
  readonly picture: GraphPicture;
  readonly layout: Layout;
  readonly size: Size;
}

/** Each layout begins where it shows most; a change of the size of the frame keeps what is seen. */
function useViewport(picture: GraphPicture, layout: Layout, size: Size) {
  const [view, setView] = useState<Viewport>({ x: 0, y: 0, scale: 1 });
  const isMeasured = size !== NO_SIZE && size.width > 0;
  useLayoutEffect(() => {
    if (!isMeasured) return;
    setView(beginning(layout, size, boxesAround(picture, layout)));
  }, [layout, isMeasured]);
  return { view, setView };
}

/** The box in focus, then those that are linked to it. */
function boxesAround({ nodes, links }: GraphPicture, { boxes }: Layout): readonly Box[] {
  const focus = nodes.find(({ isFocus }) => isFocus)?.key;
  if (focus === undefined) return [];
  const withTensors = links.filter(({ kind }) => kind !== "control");
  const linked = withTensors.flatMap(({ from, to }) => (from === focus ? [to] : to === focus ? [from] : []));
  return [focus, ...linked].flatMap((key) => boxes.get(key) ?? []);
}

const ZOOM = 1.25;
const STEP = 60;

const PANS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [STEP, 0],
  ArrowRight: [-STEP, 0],
  ArrowUp: [0, STEP],
  ArrowDown: [0, -STEP],
};

/** Takes a key that moves or zooms the picture; returns whether it is one. */
function viewKey(key: string, tools: ViewTools): boolean {
  const { view, setView, layout, size } = tools;
  const middle = { x: size.width / 2, y: size.height / 2 };
  const pan = PANS[key];
  if (pan !== undefined) setView(moved(view, ...pan));
  else if (key === "+" || key === "=") setView(zoomed(view, ZOOM, middle));
  else if (key === "-") setView(zoomed(view, 1 / ZOOM, middle));
  else if (key === "0") setView(fitted(layout, size));
  else return false;
  return true;
}

/** A press on the ground moves the picture; one on a box is a click. */
function press(event: PointerEvent, { view, setView }: ViewTools): void {
  if (event.button !== 0 || (event.target as Element).closest("[data-node]") !== null) return;
  const { clientX, clientY } = event;
  drag(event, (move) => setView(moved(view, move.clientX - clientX, move.clientY - clientY)));
}

function roll(event: WheelEvent, { view, setView }: ViewTools): void {
  event.preventDefault();
  const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const at = { x: event.clientX - left, y: event.clientY - top };
  setView(zoomed(view, Math.exp(-event.deltaY / 400), at));
}

interface ButtonsProps extends ViewTools {
  readonly frame: { readonly current: HTMLElement | null };
  /** What is under the cursor. */
  readonly words: string;
}

function ViewButtons({ frame, words, ...tools }: ButtonsProps) {
  const { setView, picture, layout, size } = tools;
  const focus = picture.nodes.find(({ isFocus }) => isFocus);
  const box = focus && layout.boxes.get(focus.key);
  const save = () => {
    const svg = frame.current?.querySelector("svg");
    if (svg) saveSvg(svg, focus?.title ?? "graph");
  };
  return (
    <div class="graph-foot line fixed">
      <IconButton label="Zoom out" text="−" act={() => viewKey("-", tools)} testId="graph-zoom-out" />
      <IconButton label="Zoom in" text="+" act={() => viewKey("+", tools)} testId="graph-zoom-in" />
      <Button class="small" testId="graph-fit" act={() => viewKey("0", tools)} text="Show all" />
      <Button
        class="small"
        disabled={box === undefined}
        testId="graph-centre"
        act={() => box && setView(centred(box, size, 1))}
        text="Op in focus"
      />
      <Button class="small" testId="graph-save" act={save} text="Save as SVG" />
      <span class="mono dim ellipsis slim grow" role="status" title={words} data-testid="graph-cursor">
        {words}
      </span>
    </div>
  );
}

/** What style sheets say of the elements of a drawing. */
const STYLES = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "paint-order"],
  ...["font-family", "font-size", "font-weight", "text-anchor"],
] as const;
const MARGIN = 12;
const NAMESPACE = "http://www.w3.org/2000/svg";

/** Saves a drawing as an SVG file that needs nothing else: it has the colours of the page's theme in it. */
function saveSvg(svg: SVGSVGElement, name: string): void {
  const address = URL.createObjectURL(new Blob([svgText(svg)], { type: "image/svg+xml" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name.replace(/[^\w.-]+/g, "_")}.svg`;
  link.click();
  URL.revokeObjectURL(address);
}

/** The whole drawing, wherever it is moved to on the page. */
function svgText(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [seen, copied] = [[...svg.querySelectorAll("*")], [...copy.querySelectorAll("*")]];
  for (const [i, element] of seen.entries()) paint(element, copied[i] as Element);
  copy.querySelector("g")?.removeAttribute("transform");
  const { x = 0, y = 0, width = 0, height = 0 } = svg.querySelector<SVGGElement>("svg > g")?.getBBox() ?? {};
  const box = [x - MARGIN, y - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN];
  copy.removeAttribute("class");
  copy.setAttribute("xmlns", NAMESPACE);
  copy.setAttribute("viewBox", box.join(" "));
  copy.setAttribute("width", String(box[2]));
  copy.setAttribute("height", String(box[3]));
  copy.prepend(ground(box, getComputedStyle(document.documentElement).getPropertyValue("--panel")));
  return new XMLSerializer().serializeToString(copy);
}

function ground(box: readonly number[], colour: string): SVGRectElement {
  const rect = document.createElementNS(NAMESPACE, "rect");
  ["x", "y", "width", "height"].forEach((name, i) => {
    rect.setAttribute(name, String(box[i]));
  });
  rect.setAttribute("fill", colour);
  return rect;
}

/** Writes what the style sheets say of an element into its copy. */
function paint(element: Element, copy: Element): void {
  const style = getComputedStyle(element);
  for (const name of STYLES) copy.setAttribute(name, style.getPropertyValue(name));
  copy.removeAttribute("class");
  for (const name of copy.getAttributeNames()) if (name.startsWith("data-")) copy.removeAttribute(name);
}
