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

const SIZES = ["left", "bottom", "timeline", "structure"];

export function App({ store }: { readonly store: Store }) {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (root.current !== null) restoreSizes(root.current, SIZES);
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
  const measure = (selector: string, side: "width" | "height") => () =>
    document.querySelector(selector)?.getBoundingClientRect()[side] ?? 300;
  return (
    <>
      <StatusBar store={store} />
      <main class="sections">
        <Alerts store={store} />
        <Splitter
          name="left"
          label="Width of the left column"
          axis="x"
          sign={1}
          initial={measure(".alerts", "width")}
          least={220}
        />
        <div class="middle">
          <Timeline store={store} />
          <Splitter
            name="timeline"
            label="Height of the timeline"
            axis="y"
            sign={1}
            initial={measure(".timeline", "height")}
            least={90}
          />
          <GraphExecutions store={store} />
        </div>
        <Splitter
          name="bottom"
          label="Height of the lower sections"
          axis="y"
          sign={-1}
          initial={measure(".stack", "height")}
          least={100}
        />
        <StackTrace store={store} />
        <div class="bottom">
          <SourceCode store={store} />
          <Splitter
            name="structure"
            label="Width of the graph structure"
            axis="x"
            sign={-1}
            initial={measure(".structure", "width")}
            least={300}
          />
          <GraphStructure store={store} />
        </div>
      </main>
    </>
  );
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
