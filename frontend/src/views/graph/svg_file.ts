/** Saves a drawing as an SVG file that needs nothing else: it has the colours of the page's theme in it. */
/** What style sheets say of the elements of a drawing. */
const STYLES = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "paint-order"],
  ...["font-family", "font-size", "font-weight", "text-anchor"],
] as const;
const MARGIN = 12;
const NAMESPACE = "http://www.w3.org/2000/svg";

export function saveSvg(svg: SVGSVGElement, name: string): void {
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
