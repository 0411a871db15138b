/** The range that is highlighted: two fields, and how many elements are in it. */
import { useMemo } from "preact/hooks";
import { shown } from "../../base/loaded";
import { counted, grouped } from "../../base/text";
import type { NumberRange } from "../../model/values/grid";
import { rangeTyped } from "../../model/values/view";
import type { Of, With } from "../props";

/** The range that the reader typed, without a part that is no number; the same object while it is the same. */
export function useRange(store: Of<"range">): NumberRange | undefined {
  const range = rangeTyped(store.range.value);
  const { low, high } = range === undefined || range === "wrong" ? {} : range;
  return useMemo(() => {
    if (low === undefined && high === undefined) return undefined;
    return { low: low ?? Number.NEGATIVE_INFINITY, high: high ?? Number.POSITIVE_INFINITY };
  }, [low, high]);
}

export function RangeFields({ store }: With<"range" | "setRange" | typeof inRangeWords>) {
  const range = store.range.value;
  const isWrong = rangeTyped(range) === "wrong";
  return (
    <div class="value-range line">
      <span class="dim">highlight</span>
      <Field label="from" value={range.low} set={(low) => store.setRange({ ...range, low })} />
      <span aria-hidden="true">…</span>
      <Field label="to" value={range.high} set={(high) => store.setRange({ ...range, high })} />
      <span class="value-in-range" role="status" data-testid="value-in-range">
        {isWrong ? <span class="bad">not a number</span> : inRangeWords(store)}
      </span>
    </div>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly set: (text: string) => void;
}

function Field({ label, value, set }: FieldProps) {
  return (
    <input
      class="value-number framed mono"
      aria-label={`Highlight elements ${label}`}
      title="A number, inf or -inf; empty for no limit"
      placeholder={label}
      inputMode="decimal"
      autocomplete="off"
      spellcheck={false}
      value={value}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}

/** "12 of 50 elements (24 %)" */
function inRangeWords(store: Of<"valueSummary">): string {
  const summary = shown(store.valueSummary.value);
  const inside = summary?.in_range;
  if (summary === undefined || inside === undefined) return "";
  const share = summary.size === 0 ? 0 : (100 * inside) / summary.size;
  const percent = inside > 0 && share < 0.1 ? "< 0.1" : Number(share.toPrecision(3));
  return `${grouped(inside)} of ${counted(summary.size, "element")} (${percent} %)`;
}
