/** The numbers of a slice: its kinds of elements, minimum to deviation, and the histogram of the finite ones. */
import { shown } from "../../base/loaded";
import { counted, grouped, significant } from "../../base/text";
import { KINDS } from "../../model/health";
import { inkOf } from "../numbers";
import { Failure, Hint } from "../panel";
import type { With } from "../props";

export function SummaryPart({ store }: With<"valuePicture" | "valueSummary">) {
  const loaded = store.valueSummary.value;
  const summary = shown(loaded);
  // What is wrong with the slice is said below its field.
  if (store.valuePicture.value?.kind === "failed") return null;
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (summary === undefined) return <Hint>Computing …</Hint>;
  return (
    <div class="value-summary" data-testid="value-summary">
      <Kinds size={summary.size} counts={summary.counts ?? {}} />
      <Moments numbers={summary} />
      {summary.histogram !== undefined && summary.histogram.counts.length > 0 && (
        <Histogram edges={summary.histogram.edges} counts={summary.histogram.counts} />
      )}
    </div>
  );
}

const TRUTHS = [
  { name: "false", symbol: "False", bad: false },
  { name: "true", symbol: "True", bad: false },
] as const;

interface KindsProps {
  readonly size: number | undefined;
  readonly counts: Readonly<Partial<Record<string, number | undefined>>>;
}

/** The number of elements of each kind that occurs. */
export function Kinds({ size, counts }: KindsProps) {
  const there = [...KINDS, ...TRUTHS].filter(({ name }) => (counts[name] ?? 0) > 0);
  return (
    <p class="value-kinds wrap">
      {size !== undefined && <b>{counted(size, "element")}</b>}
      {there.map(({ name, symbol, bad }) => (
        <span key={name} class={bad ? "bad" : ""}>
          <i class={`value-key bar-${name}`} style={{ background: inkOf(name) }} aria-hidden="true" />
          {grouped(counts[name] ?? 0)} {symbol}
        </span>
      ))}
    </p>
  );
}

const MOMENTS = ["min", "max", "mean", "std"] as const;

type Moment = (typeof MOMENTS)[number];

export function Moments({
  numbers,
}: {
  readonly numbers: Readonly<Partial<Record<Moment, number | undefined>>>;
}) {
  const known = MOMENTS.filter((name) => numbers[name] !== undefined);
  if (known.length === 0) return null;
  return (
    <dl class="value-moments">
      {known.map((name) => (
        <div key={name}>
          <dt class="dim">{name}</dt>
          <dd>{significant(numbers[name] ?? 0)}</dd>
        </div>
      ))}
    </dl>
  );
}

interface HistogramProps {
  readonly edges: readonly number[];
  readonly counts: readonly number[];
}

const HEIGHT = 64;

/** A bar for each bin. A bin with few elements is still a pixel high. */
function Histogram({ edges, counts }: HistogramProps) {
  const most = Math.max(1, ...counts);
  const width = 100 / counts.length;
  return (
    <figure class="value-histogram" data-testid="value-histogram">
      <svg role="img" aria-label="Histogram" viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none">
        {counts.map((n, i) => {
          const height = n === 0 ? 0 : Math.max(1, (n / most) * HEIGHT);
          return (
            <rect key={i} x={i * width} y={HEIGHT - height} width={width * 0.9} height={height}>
              <title>
                {`${significant(edges[i] ?? 0)} to ${significant(edges[i + 1] ?? 0)}: ${counted(n, "element")}`}
              </title>
            </rect>
          );
        })}
      </svg>
      <figcaption class="dim">
        <span>{significant(edges[0] ?? 0)}</span>
        <span>most: {grouped(most)}</span>
        <span>{significant(edges.at(-1) ?? 0)}</span>
      </figcaption>
    </figure>
  );
}
