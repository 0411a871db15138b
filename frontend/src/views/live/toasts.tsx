/** The sentences of hits, in a region that screen readers read when they have nothing else to say. */
import { IconButton } from "../panel";
import type { With } from "../props";

export function Toasts({ store }: With<"live">) {
  const { toasts, program, dismissToast } = store.live;
  const { pause } = program.value?.state ?? {};
  const isToasted = toasts.value.some(({ sentence }) => sentence === pause?.sentence);
  return (
    <div class="toasts" role="status" aria-live="polite" data-testid="toasts">
      {/* A step has no toast, because the bar shows it; it is read all the same. */}
      {!isToasted && <span class="unseen">{pause?.sentence}</span>}
      {toasts.value.map(({ number, sentence, kind }) => (
        <div key={number} class={`toast toast-${kind}`} data-testid="toast">
          <span>{sentence}</span>
          <IconButton label="Dismiss" text="×" act={() => dismissToast(number)} />
        </div>
      ))}
    </div>
  );
}
