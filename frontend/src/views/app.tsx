/**
 * The page: six sections with bars between them that can be dragged, and the value view over the lower ones.
 * The page as a whole does not scroll.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { remember, remembered } from "../base/host";
import { shown } from "../base/loaded";
import type { Store } from "../store/store";
import { Alerts } from "./alerts";
import { Dock } from "./dock";
import { Empty } from "./empty";
import { GraphStructure } from "./graph_structure";
import { isInField } from "./hooks";
import { KeyPrompt } from "./key_prompt";
import { lazy } from "./lazy";
import { ListSection } from "./list_section";
import { takeLiveKey } from "./live/keys";
import { LiveBar } from "./live/live_bar";
import { LiveButton, StartCard } from "./live/start_card";
import { Toasts } from "./live/toasts";
import { Button, IconButton, restoreSizes, Splitter } from "./panel";
import type { With } from "./props";
import { SourceCode } from "./source_code";
import { StackTrace } from "./stack_trace";
import { StatusBar } from "./status_bar";
import { Timeline } from "./timeline";

const KeyHelp = lazy<With<"dock.showKeys">>(
  async () => (await import("./key_help")).KeyHelp,
  () => null,
);
const ValueSection = lazy(async () => (await import("./values/value_view")).ValueSection);

/** The sizes that the reader can change. */
const BARS = {
  left: { label: "Width of the left column", axis: "x", sign: 1, section: ".alerts", least: 220 },
  timeline: { label: "Height of the timeline", axis: "y", sign: 1, section: ".timeline", least: 90 },
  bottom: { label: "Height of the lower sections", axis: "y", sign: -1, section: ".stack", least: 100 },
  structure: {
    label: "Width of the graph structure",
    axis: "x",
    sign: -1,
    section: ".structure",
    least: 300,
  },
  value: { label: "Height of the value", axis: "y", sign: -1, section: ".value-frame", least: 240 },
} as const;

export function App({ store }: With) {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (root.current !== null) restoreSizes(root.current, Object.keys(BARS));
  }, []);
  useEffect(() => shortcuts(store), [store]);
  const noRun = store.run.value === undefined;
  return (
    <div class="app pile" ref={root}>
      {noRun ? <NoRun store={store} /> : <Sections store={store} />}
      <StartCard store={store} />
      <KeyPrompt store={store} />
      {store.dock.areKeysShown.value && <KeyHelp store={store} />}
      {!noRun && <Hints />}
      <Toasts store={store} />
    </div>
  );
}

function NoRun({ store }: With) {
  if (store.live.program.value !== undefined)
    return (
      <>
        <LiveBar store={store} />
        <p class="hint">Nothing is recorded yet. Step or continue to see here what the program computes.</p>
      </>
    );
  const failure = store.connection.value;
  if (shown(store.runs.value) === undefined && failure === undefined) return <p class="hint">Loading …</p>;
  return <Empty logdir={store.logdir.value} failure={failure} live={<LiveButton store={store} />} />;
}

function Sections({ store }: With) {
  const isValueOpen = store.value.value !== undefined;
  // It stays when it is closed, to give the keyboard back.
  const wasOpen = useRef(false);
  wasOpen.current ||= isValueOpen;
  return (
    <>
      <StatusBar store={store} />
      <LiveBar store={store} />
      <main class={isValueOpen ? "sections short grow with-value" : "sections short grow"}>
        <Alerts store={store} />
        <SizeBar name="left" />
        <Dock store={store}>
          <Timeline store={store} />
          <SizeBar name="timeline" />
          <ListSection store={store} />
        </Dock>
        <SizeBar key={isValueOpen ? "value" : "bottom"} name={isValueOpen ? "value" : "bottom"} />
        {wasOpen.current && <ValueSection store={store} />}
        <StackTrace store={store} />
        <div class="bottom">
          <SourceCode store={store} />
          <SizeBar name="structure" />
          <GraphStructure store={store} />
        </div>
      </main>
    </>
  );
}

const HINTS = [
  "The page opens on the first bad value, or at a glance where none is bad. n and p go on to the next alert.",
  "/ finds ops, layers, lines and functions by name; > runs a command; ? shows all keys.",
  "[ and ] show the same op in the step before and after; v shows its value, or its curve.",
];
const HINTS_SEEN = "hints";

/** Three hints for the first visit; the browser keeps that they were seen. */
function Hints() {
  const [at, setAt] = useState(remembered(HINTS_SEEN) === "seen" ? HINTS.length : 0);
  const goTo = (next: number) => {
    setAt(next);
    if (next >= HINTS.length) remember(HINTS_SEEN, "seen");
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

/** The bar that changes one of the sizes; at first the size is that of a section. */
function SizeBar({ name }: { readonly name: keyof typeof BARS }) {
  const { label, axis, sign, section, least } = BARS[name];
  const side = axis === "x" ? "width" : "height";
  const initial = () => document.querySelector(section)?.getBoundingClientRect()[side] ?? 300;
  return <Splitter name={name} label={label} axis={axis} sign={sign} initial={initial} least={least} />;
}

/** The verbs of keys, which do nothing in a field. */
const SHORTCUTS: Readonly<Record<string, (store: Store) => void>> = {
  n: (store) => store.nextAlert(),
  p: (store) => store.previousAlert(),
  v: (store) => store.showFocusValue(),
  "?": (store) => store.dock.showKeys(true),
  "[": (store) => void store.steps.stepBy(-1),
  "]": (store) => void store.steps.stepBy(1),
};

/**
 * The key ? shows all keys. The keys n and p go to the next and the previous alert, v shows a value, and Escape closes it. The brackets go
 * to the same op in the step before and after. F8 to F11 are those of a program that runs.
 */
function shortcuts(store: Store): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (takeLiveKey(event, store)) event.preventDefault();
    else if (event.key === "Escape") store.closeValue();
    else if (!isInField(event)) SHORTCUTS[event.key]?.(store);
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
