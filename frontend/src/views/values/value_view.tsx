/** The value view: one recorded tensor, over the lower part of the page. */
import { useEffect, useRef } from "preact/hooks";
import { npyAddress } from "../../api/values";
import { shown } from "../../base/loaded";
import { bytes, counted, significant } from "../../base/text";
import { recordOf } from "../../model/changed_values";
import { fromWire, type Numerics } from "../../model/health";
import { displayName, shapeText } from "../../model/names";
import { scaleOf } from "../../model/values/colours";
import { NAN, NEG_INF, POS_INF } from "../../model/values/grid";
import { hasNumbers, type ValueView } from "../../model/values/view";
import type { ValuePicture } from "../../store/values/values";
import { textBlock, textOf } from "../../store/values/values";
import { ChangedTag } from "../changed_tag";
import { CurveView } from "../curves/curve_view";
import { LiveHistory, LiveTimes } from "../live/live_history";
import { TensorName, Verdict } from "../numbers";
import { Button, Failure, Hint, IconButton, Panel } from "../panel";
import type { Takes, With } from "../props";
import { BadElementButton } from "./bad_element";
import { HistoryPart, TimeSlider } from "./history";
import { gradientOf, usePalette } from "./palette";
import { Plot } from "./plot";
import { RangeFields } from "./range";
import { kindOf } from "./scene";
import { SliceBar } from "./slice_bar";
import { Kinds, Moments, SummaryPart } from "./summary";
import { ValueTable } from "./table";

type Uses = Takes<
  "isCurveSeen" | "run" | "value" | "valueInfo" | "valuePicture" | "valueTab" | "valueTexts" | "valueView",
  "closeValue" | "setValueTab",
  | typeof BadElementButton
  | typeof CurveView
  | typeof LiveHistory
  | typeof Plot
  | typeof RangeFields
  | typeof SliceBar
  | typeof TimeSlider
>;

export function ValueSection({ store }: With<Uses>) {
  const frame = useRef<HTMLDivElement>(null);
  const isOpen = store.value.value !== undefined;
  useFocus(frame, isOpen);
  if (!isOpen) return null;
  const view = store.valueView.value;
  const loaded = store.valueInfo.value;
  return (
    <div class="value-frame slim short" ref={frame} tabIndex={-1} data-testid="value-view">
      <Panel
        title={store.isCurveSeen.value ? "Curve" : "Value"}
        className="value"
        note={view !== undefined && <Head store={store} view={view} />}
        tools={<Tools store={store} view={view} />}
      >
        {loaded?.kind === "failed" ? (
          <Failure message={loaded.message} />
        ) : view === undefined ? (
          <Hint>Loading …</Hint>
        ) : (
          <Body store={store} view={view} />
        )}
      </Panel>
    </div>
  );
}

/** Gives the keyboard focus to the view when it opens, and back when it closes. */
function useFocus(frame: { readonly current: HTMLElement | null }, isOpen: boolean): void {
  useEffect(() => {
    if (!isOpen) return;
    const before = document.activeElement;
    frame.current?.focus({ preventScroll: true });
    frame.current?.scrollIntoView({ block: "start" });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, [isOpen]);
}

/** What the tensor is. */
function Head({ store, view: { info, ref } }: With<Uses, { view: ValueView }>) {
  const place = info.function === undefined ? undefined : `in ${displayName(info.function)}`;
  const size = [
    info.size === undefined ? undefined : counted(info.size, "element"),
    info.bytes === undefined ? undefined : bytes(info.bytes),
  ];
  return (
    <span class="value-headline slim line" data-testid="value-head">
      <b>
        <TensorName name={displayName(info.name)} />
      </b>
      <code>{[info.dtype, info.shape && shapeText(info.shape)].filter(Boolean).join(" ")}</code>
      <span class="dim">{[...size, info.op_name && info.op_type, place].filter(Boolean).join(" · ")}</span>
      {info.health?.bad !== undefined && <Verdict summary={fromWire(info.health)} />}
      {ref.kind !== "live" && <ChangedTag store={store} of={recordOf(ref)} />}
    </span>
  );
}

const TABS = [
  { tab: "picture", title: "Picture" },
  { tab: "table", title: "Table" },
  { tab: "curve", title: "Curve" },
] as const;

function Tools({ store, view }: With<Uses, { view: ValueView | undefined }>) {
  return (
    <div class="tools">
      {view?.info.is_kept === true && <KeptTools store={store} view={view} />}
      <IconButton
        label="Close the value"
        title="Close (Escape)"
        text="×"
        testId="value-close"
        act={store.closeValue}
      />
    </div>
  );
}

/** The tabs, and the download. */
function KeptTools({ store, view }: BodyProps) {
  const run = store.run.value;
  return (
    <>
      {hasNumbers(view.info) &&
        TABS.map(({ tab, title }) => (
          <Button
            key={tab}
            class="small value-tab"
            aria-pressed={store.valueTab.value === tab}
            testId={`value-tab-${tab}`}
            act={() => store.setValueTab(tab)}
            text={title}
          />
        ))}
      <BadElementButton store={store} value={view.ref} element={view.info.element} />
      {run !== undefined && (
        <a
          class="small value-download"
          href={npyAddress(run, view.ref, view.slicing)}
          download
          title="Download the slice as a file that numpy.load reads"
          data-testid="value-download"
        >
          .npy
        </a>
      )}
    </>
  );
}

type BodyProps = With<Uses, { view: ValueView }>;

function Body({ store, view }: BodyProps) {
  const isCurve = store.isCurveSeen.value;
  if (!view.info.is_kept && !isCurve) return <NotKept store={store} view={view} />;
  return (
    <div class="value-body short grow">
      <div class="value-main slim short pile">
        {isCurve ? (
          <CurveView store={store} view={view} />
        ) : (
          <>
            <SliceBar store={store} view={view} />
            <Elements store={store} view={view} />
          </>
        )}
      </div>
      <div class="value-side-part pile" role="group" aria-label="Numbers of the slice">
        {view.info.is_kept ? <Kept store={store} view={view} /> : <NotKept store={store} view={view} />}
      </div>
    </div>
  );
}

/** The numbers of the elements. */
function Kept({ store, view }: BodyProps) {
  return (
    <>
      <Times store={store} view={view} />
      <SummaryPart store={store} />
      {hasNumbers(view.info) && <RangeFields store={store} />}
      <Past store={store} view={view} />
    </>
  );
}

/** Why there is no value, and the numbers that there are instead. */
function NotKept({ store, view }: BodyProps) {
  const summary = fromWire(view.info.health);
  return (
    <div class="value-missing" data-testid="value-missing">
      <Times store={store} view={view} />
      {summary !== undefined && (
        <div class="value-summary">
          <Kinds size={summary.size} counts={summary.counts} />
          {summary.numerics !== undefined && <Moments numbers={momentsOf(summary.numerics)} />}
        </div>
      )}
      {view.info.element !== undefined && <p data-testid="bad-element-words">{view.info.element.words}</p>}
      <p class="dim">{view.info.reason ?? "Its elements are not on record."}</p>
      {view.ref.kind === "live" && <LiveHistory store={store} />}
    </div>
  );
}

function momentsOf({ variance, ...others }: Numerics) {
  return variance === undefined ? others : { ...others, std: Math.sqrt(variance) };
}

/** Which time of the tensor is shown. */
function Times({ store, view }: BodyProps) {
  return view.ref.kind === "live" ? <LiveTimes store={store} /> : <TimeSlider store={store} view={view} />;
}

/** The history of the tensor. */
function Past({ store, view }: BodyProps) {
  return view.ref.kind === "live" ? <LiveHistory store={store} /> : <HistoryPart store={store} view={view} />;
}

/** The elements as one number, as a picture or as a table. */
function Elements({ store, view }: BodyProps) {
  const { plane, info } = view;
  const picture = shown(store.valuePicture.value);
  const isScalar = plane !== undefined && plane.rows === undefined && plane.columns === undefined;
  const isEmpty =
    info.size === 0 || (plane !== undefined && [plane.rows, plane.columns].some((l) => l?.length === 0));
  if (isEmpty) return <Hint>There are no elements: a dimension is 0 long.</Hint>;
  const isTable = store.valueTab.value === "table" || !hasNumbers(info);
  if (isScalar) return <Scalar store={store} view={view} />;
  if (isTable) return plane === undefined ? null : <ValueTable store={store} view={view} plane={plane} />;
  if (picture === undefined)
    return store.valuePicture.value?.kind === "failed" ? null : <Hint>Loading …</Hint>;
  return (
    <>
      <Legend picture={picture} />
      <Plot store={store} picture={picture} />
    </>
  );
}

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
          <i class="value-key" style={{ background: `var(--value-${name})` }} />
          {symbol}
        </span>
      ))}
      {isTiled && (
        <span class="dim value-tiles cut grow">
          {isMap ? "a pixel is the mean of its elements, and bad if one is" : "band from smallest to largest"}
        </span>
      )}
    </p>
  );
}

const ONLY = { row: 0, column: 0 } as const;

export function Scalar({ store, view }: With<Uses, { view: ValueView }>) {
  const run = store.run.value;
  void store.valueTexts.edition.value;
  const failure = store.valueTexts.failure.value;
  useEffect(() => {
    if (run !== undefined) store.valueTexts.want([textBlock(run, view, ONLY)]);
  }, [run, view]);
  if (failure !== undefined) return <Failure message={failure} />;
  const text = run === undefined ? undefined : textOf(store.valueTexts, run, view, ONLY);
  return (
    <pre class="value-scalar" data-testid="value-scalar">
      {text ?? "…"}
    </pre>
  );
}
