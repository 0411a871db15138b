/** What the colours of a picture mean. */
import { significant } from "../../base/text";
import { scaleOf } from "../../model/values/colours";
import { NAN, NEG_INF, POS_INF } from "../../model/values/grid";
import type { ValuePicture } from "../../store/values/values";
import { gradientOf, usePalette } from "./palette";
import { kindOf } from "./scene";

const KINDS = [
  { name: "nan", symbol: "NaN", bit: NAN },
  { name: "pos-inf", symbol: "+∞", bit: POS_INF },
  { name: "neg-inf", symbol: "−∞", bit: NEG_INF },
] as const;

export function Legend({ picture }: { readonly picture: ValuePicture }) {
  const inks = usePalette();
  const { grid, range } = picture;
  const scale = scaleOf(range);
  const isMap = kindOf(picture) === "map";
  const isTiled = grid.tileRows * grid.tileColumns > 1;
  return (
    <p class="value-legend" data-testid="value-legend">
      {range === undefined ? (
        <span class="dim">no finite element</span>
      ) : isMap ? (
        <>
          <span>{significant(scale.low)}</span>
          <i class="value-scale" style={{ background: gradientOf(inks, scale.isDiverging) }} />
          <span>{significant(scale.high)}</span>
        </>
      ) : (
        <span class="dim">
          {significant(range.low)} to {significant(range.high)}
        </span>
      )}
      {KINDS.map(({ name, symbol, bit }) => (
        <span key={name} class={grid.kinds.some((kind) => (kind & bit) !== 0) ? "" : "dim"}>
          <i class={`value-key value-key-${name}`} />
          {symbol}
        </span>
      ))}
      {isTiled && (
        <span class="dim value-tiles">
          {isMap ? "a pixel is the mean of its elements, and bad if one is" : "band from smallest to largest"}
        </span>
      )}
    </p>
  );
}
