/** The colours of the style sheet, for canvases. */
import { useEffect, useState } from "preact/hooks";
import { byName } from "../../model/health";
import { type Palette, type Rgb, rgbOf } from "../../model/values/colours";

/** Other colours, as CSS has them, by the variables that hold them. */
const COLOURS = {
  text: "--text",
  line: "--line",
  focus: "--focus",
  curve: "--curve",
  envelope: "--curve-envelope",
  range: "--selected",
  dim: "--dim",
  bad: "--bad",
  changed: "--input-tag",
  panel: "--panel",
  raised: "--raised",
  badFill: "--bad-fill",
  call: "--function",
  callText: "--function-text",
  op: "--op",
} as const;

const LINES = ["--line-0", "--line-1", "--line-2", "--line-3", "--line-4", "--line-5"] as const;

export type Inks = Palette &
  Readonly<Record<keyof typeof COLOURS, string>> & {
    /** Of the lines of a chart. */
    readonly lines: readonly string[];
  };

const SEQUENTIAL = ["--heat-0", "--heat-1", "--heat-2", "--heat-3"] as const;
const DIVERGING = ["--heat-neg-1", "--heat-neg-0", "--heat-zero", "--heat-pos-0", "--heat-pos-1"] as const;

/** The colours of the theme; they change with it. */
export function usePalette(): Inks {
  const [inks, setInks] = useState(readInks);
  useEffect(() => {
    const observer = new MutationObserver(() => setInks(readInks()));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  return inks;
}

function readInks(): Inks {
  const style = getComputedStyle(document.documentElement);
  const text = (name: string) => style.getPropertyValue(name).trim();
  const rgb = (name: string): Rgb => rgbOf(text(name));
  return {
    sequential: SEQUENTIAL.map(rgb),
    diverging: DIVERGING.map(rgb),
    nan: rgb("--value-nan"),
    posInf: rgb("--value-pos-inf"),
    negInf: rgb("--value-neg-inf"),
    faded: rgb("--panel"),
    lines: LINES.map(text),
    ...byName(Object.keys(COLOURS) as (keyof typeof COLOURS)[], (name) => text(COLOURS[name])),
  };
}

/** The colour scale as a CSS background. */
export function gradientOf({ sequential, diverging }: Palette, isDiverging: boolean): string {
  const stops = (isDiverging ? diverging : sequential).map(([r, g, b]) => `rgb(${r} ${g} ${b})`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
