/** The page: six sections with bars between them that can be dragged. The page as a whole does not scroll. */
import { useEffect, useRef } from "preact/hooks";
import { shown } from "../base/loaded";
import type { Store } from "../store/store";
import { Alerts } from "./alerts";
import { Empty } from "./empty";
import { GraphExecutions } from "./graph_executions";
import { GraphStructure } from "./graph_structure";
import { restoreSizes, Splitter } from "./panel";
import { SourceCode } from "./source_code";
import { StackTrace } from "./stack_trace";
import { StatusBar } from "./status_bar";
import { Timeline } from "./timeline";

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
} as const;

export function App({ store }: { readonly store: Store }) {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (root.current !== null) restoreSizes(root.current, Object.keys(BARS));
  }, []);
  useEffect(() => shortcuts(store), [store]);
  const runs = shown(store.runs.value);
  const noRun = store.run.value === undefined;
  return (
    <div class="app" ref={root}>
      {noRun ? (
        runs === undefined && store.connection.value === undefined ? (
          <p class="hint">Loading …</p>
        ) : (
          <Empty logdir={store.logdir.value} failure={store.connection.value} />
        )
      ) : (
        <Sections store={store} />
      )}
    </div>
  );
}

function Sections({ store }: { readonly store: Store }) {
  return (
    <>
      <StatusBar store={store} />
      <main class="sections">
        <Alerts store={store} />
        <SizeBar name="left" />
        <div class="middle">
          <Timeline store={store} />
          <SizeBar name="timeline" />
          <GraphExecutions store={store} />
        </div>
        <SizeBar name="bottom" />
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

/** The bar that changes one of the sizes; at first the size is that of a section. */
function SizeBar({ name }: { readonly name: keyof typeof BARS }) {
  const { label, axis, sign, section, least } = BARS[name];
  const side = axis === "x" ? "width" : "height";
  const initial = () => document.querySelector(section)?.getBoundingClientRect()[side] ?? 300;
  return <Splitter name={name} label={label} axis={axis} sign={sign} initial={initial} least={least} />;
}

/** The keys n and p go to the next and the previous alert, except in a field. */
function shortcuts(store: Store): () => void {
  const onKey = (event: KeyboardEvent) => {
    const inField =
      event.target instanceof HTMLElement && event.target.closest("input, select, textarea") !== null;
    if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") store.nextAlert();
    else if (event.key === "p") store.previousAlert();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
