/** Three hints for the first visit; the browser keeps that they were seen. */
import { useState } from "preact/hooks";
import { remember, remembered } from "../base/host";
import { Button, IconButton } from "./panel";

const HINTS = [
  "The page opens on the first bad value, or at a glance where none is bad. n and p go on to the next alert.",
  "/ finds ops, layers, lines and functions by name; > runs a command; ? shows all keys.",
  "[ and ] show the same op in the step before and after; v shows its value, or its curve.",
];
const KEY = "hints";

export function Hints() {
  const [at, setAt] = useState(remembered(KEY) === "seen" ? HINTS.length : 0);
  const goTo = (next: number) => {
    setAt(next);
    if (next >= HINTS.length) remember(KEY, "seen");
  };
  if (at >= HINTS.length) return null;
  const isLast = at === HINTS.length - 1;
  return (
    <aside class="hints line" aria-label="Hints" data-testid="hints">
      <span class="dim nowrap">
        {at + 1} of {HINTS.length}
      </span>
      <span>{HINTS[at]}</span>
      <Button class="small" testId="hint-next" act={() => goTo(at + 1)} text={isLast ? "Done" : "Next"} />
      <IconButton label="Close the hints" text="×" act={() => goTo(HINTS.length)} />
    </aside>
  );
}
