/** Which part of a tensor is shown: a field in NumPy's notation, its dimensions, and a slider for each index. */
import { useEffect, useState } from "preact/hooks";
import { PARTS } from "../../api/values";
import { type Axis, shownAxes, withIndex, withShown, writeSlicing } from "../../model/values/slicing";
import { isComplex, type ValueView } from "../../model/values/view";
import { Choice, type Option, plainOptions } from "../choice";
import { Button } from "../panel";
import type { Of, With } from "../props";

type Uses = "part" | "valuePicture" | "valueSummary" | "setPart" | "setSlicing" | "showAxes" | "swapAxes";

/** The sliders that are there at first; a tensor may have 254 dimensions. */
const MOST_SLIDERS = 12;

type BarProps = With<Uses, { view: ValueView }>;

export function SliceBar({ store, view }: BarProps) {
  const rank = view.info.shape?.length ?? 0;
  const problem = problemOf(store, view);
  return (
    <div class="slice-bar fixed ruled">
      <div class="slice-line line wrap">
        {rank > 0 && <SliceField store={store} view={view} isWrong={problem !== undefined} />}
        {rank > 2 && view.axes !== undefined && <Dimensions store={store} view={view} axes={view.axes} />}
        {view.plane?.rows !== undefined && (
          <Button class="small" testId="value-swap" act={store.swapAxes} text="Swap axes" />
        )}
        {isComplex(view.info.dtype) && <PartChoice store={store} />}
      </div>
      {problem !== undefined && (
        <p class="failure" id="slice-problem" role="alert" data-testid="slice-problem">
          {problem}
        </p>
      )}
      {view.axes !== undefined && <Sliders store={store} view={view} axes={view.axes} />}
    </div>
  );
}

/** The server's sentence about the slice, or what no picture and no table can show. */
function problemOf(store: Of<Uses>, view: ValueView): string | undefined {
  const failed = [store.valuePicture.value, store.valueSummary.value].find(
    (loaded) => loaded?.kind === "failed",
  );
  if (failed?.kind === "failed") return failed.message;
  const dimensions = view.axes === undefined ? 0 : shownAxes(view.axes).length;
  if (dimensions <= 2) return undefined;
  return `The slice has ${dimensions} dimensions, and two can be shown: put an index in place of a colon.`;
}

function SliceField({ store, view, isWrong }: BarProps & { readonly isWrong: boolean }) {
  const [text, setText] = useState(view.slicing);
  useEffect(() => setText(view.slicing), [view.slicing]);
  const set = (event: Event) => {
    event.preventDefault();
    store.setSlicing(text);
  };
  return (
    <form onSubmit={set}>
      <label class="slice-label level">
        <span class="dim">slice</span>
        <input
          class="slice-field framed mono"
          data-testid="value-slicing"
          title="NumPy's notation, such as [:, 3, ::2]; Enter shows it, an empty field is the first slice"
          autocomplete="off"
          spellcheck={false}
          maxLength={2000}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? "slice-problem" : undefined}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onBlur={set}
        />
      </label>
    </form>
  );
}

interface AxesProps extends BarProps {
  readonly axes: readonly Axis[];
}

/** Which dimensions go down and across. */
function Dimensions({ store, view, axes }: AxesProps) {
  const { plane } = view;
  const [rows, columns] = [plane?.rows?.axis, plane?.columns?.axis];
  const choose = (down: number, across: number) => {
    const other = (without: number) => (without === 0 ? 1 : 0);
    const pair = down === across ? [down, other(down)] : [down, across];
    store.showAxes(writeSlicing(withShown(axes, pair)), (pair[0] ?? 0) > (pair[1] ?? 0));
  };
  return (
    <>
      <AxisChoice label="down" n={axes.length} at={rows} set={(axis) => choose(axis, columns ?? axis)} />
      <AxisChoice label="across" n={axes.length} at={columns} set={(axis) => choose(rows ?? axis, axis)} />
    </>
  );
}

interface AxisChoiceProps {
  readonly label: string;
  readonly n: number;
  readonly at: number | undefined;
  readonly set: (axis: number) => void;
}

const NO_AXIS: Option<""> = { value: "", title: "–" };

function AxisChoice({ label, n, at, set }: AxisChoiceProps) {
  const axes = Array.from({ length: n }, (_, axis) => ({ value: axis, title: `axis ${axis}` }));
  return (
    <label class="slice-label level">
      <span class="dim">{label}</span>
      <Choice<number | "">
        options={at === undefined ? [NO_AXIS, ...axes] : axes}
        value={at ?? ""}
        choose={(axis) => axis !== "" && set(axis)}
        testId={`value-${label}`}
      />
    </label>
  );
}

function PartChoice({ store }: With<Uses>) {
  return (
    <label class="slice-label level">
      <span class="dim">part</span>
      <Choice
        options={plainOptions(PARTS)}
        value={store.part.value}
        choose={(part) => store.setPart(part)}
        testId="value-part"
      />
    </label>
  );
}

/** A slider for each dimension with an index. */
function Sliders({ store, view, axes }: AxesProps) {
  const shape = view.info.shape ?? [];
  const indices = axes.flatMap((axis, i) => (axis.kind === "index" ? [{ i, at: axis.at }] : []));
  const usable = indices.filter(({ i }) => (shape[i] ?? 0) > 0).slice(0, MOST_SLIDERS);
  const isLoading = store.valuePicture.value?.kind === "loading";
  if (usable.length === 0) return null;
  return (
    <div class="slice-sliders scroll line wrap" role="group" aria-label="Indices" aria-busy={isLoading}>
      {usable.map(({ i, at }) => (
        <label key={i} class="slice-label level">
          <span class="dim">axis {i}</span>
          <input
            type="range"
            min={0}
            max={(shape[i] ?? 1) - 1}
            value={at < 0 ? at + (shape[i] ?? 0) : at}
            data-testid={`value-axis-${i}`}
            onInput={(event) =>
              store.setSlicing(writeSlicing(withIndex(axes, i, Number(event.currentTarget.value))))
            }
          />
          <output>
            {at} <span class="dim">of {shape[i]}</span>
          </output>
        </label>
      ))}
      {indices.length > MOST_SLIDERS && (
        <span class="dim">and {indices.length - MOST_SLIDERS} more, in the field above</span>
      )}
    </div>
  );
}
