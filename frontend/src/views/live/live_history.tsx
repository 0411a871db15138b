/** In the value view of a program's tensor: which time of it is shown, and its numbers over all times seen. */
import { significant } from "../../base/text";
import { numberOf } from "../../model/live/tensor_rows";
import { Button } from "../panel";
import type { Of, With } from "../props";
import { OccurrenceSlider } from "../values/history";
import { CurvePicture, CurvesTools } from "./curves";

/** "call 12, time 2 in it", a slider through the times, and the way back to the newest one. */
export function LiveTimes({ store }: With<"livePanel">) {
  const panel = store.livePanel;
  const now = panel.liveValue.value;
  const shown = now?.seen[now.at];
  if (now === undefined || shown === undefined) return null;
  const last = now.seen.length - 1;
  const go = (to: number) => showTime(store, to);
  return (
    <div class="lp-times line wrap">
      <span data-testid="live-value-call">
        <b>call {shown.call}</b>
        {shown.tensor.occurrence > 1 && <span class="dim"> · time {shown.tensor.occurrence} in it</span>}
        {shown.tensor.was_changed && <span class="tag">changed</span>}
      </span>
      <OccurrenceSlider at={now.at} total={now.seen.length} go={go} />
      {!panel.isFollowing.value && (
        <Button class="small" testId="live-follow" act={() => go(last)} text="Newest" />
      )}
    </div>
  );
}

/** Shows another time that was seen; the last one is followed. */
function showTime({ livePanel: panel }: Of<"livePanel">, to: number): void {
  const now = panel.liveValue.peek();
  const tensor = now?.seen[to]?.tensor;
  if (now === undefined || tensor === undefined) return;
  panel.showSeen(tensor.number, now.ref.program, to === now.seen.length - 1);
}

export function LiveHistory({ store }: With<"livePanel" | typeof CurvePicture | typeof CurvesTools>) {
  const panel = store.livePanel;
  const now = panel.liveValue.value;
  if (now === undefined || now.seen.length <= 1) return null;
  const name = panel.curveNumber.value;
  const points = now.seen.map(({ call, tensor }) => ({ call, numbers: tensor.numbers }));
  const value = numberOf(now.seen[now.at]?.tensor.numbers ?? [], name);
  return (
    <figure class="value-history" data-testid="live-history">
      <figcaption class="lp-history-head">
        <b>History</b> <CurvesTools store={store} />
      </figcaption>
      <CurvePicture
        store={store}
        label="History"
        points={points}
        name={name}
        at={now.at}
        pick={(to) => showTime(store, to)}
      />
      <p class="dim value-ends">
        <span>call {points[0]?.call}</span>
        <span>{value === undefined ? "" : significant(value)}</span>
        <span>call {points.at(-1)?.call}</span>
      </p>
      <p class="dim">Of earlier calls there are numbers only: the program holds the elements of one call.</p>
    </figure>
  );
}
