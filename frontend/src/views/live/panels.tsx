/** The panels of a program that runs: each but its breakpoints with a bar of what it shows and its tools. */
import type { FunctionComponent } from "preact";
import type { DockPanel } from "../dock";
import type { With } from "../props";
import { Breakpoints } from "./breakpoints";
import { Calls } from "./calls";
import { Curves, CurvesTools } from "./curves";
import { Evaluate } from "./evaluate";
import { Ops, OpsNote, OpsTools } from "./op_tree";
import { Tensors, TensorsNote, TensorsTools } from "./tensors";

type View = FunctionComponent<With>;

/** The view below a bar with a note at its left end and tools at its right end. */
function withBar(Note: View, Tools: View, Body: View): View {
  return ({ store }) => (
    <>
      <div class="lp-bar raised line wrap fixed ruled">
        <span class="lp-note dim grow ellipsis">
          <Note store={store} />
        </span>
        <Tools store={store} />
      </div>
      <Body store={store} />
    </>
  );
}

const NoNote: View = () => null;

/** In the order of their tabs. */
export const PROGRAM_PANELS: readonly DockPanel[] = [
  {
    name: "breakpoints",
    title: "Breakpoints",
    count: ({ live }) => live.state.value?.breakpoints.length,
    View: Breakpoints,
  },
  {
    name: "tensors",
    title: "Tensors",
    count: ({ livePanel, dock }) => (dock.open.value === "tensors" ? livePanel.rows.value.total : undefined),
    View: withBar(TensorsNote, TensorsTools, Tensors),
  },
  { name: "ops", title: "Ops", View: withBar(OpsNote, OpsTools, Ops) },
  { name: "calls", title: "Calls", count: ({ live }) => live.state.value?.calls.length, View: Calls },
  {
    name: "curves",
    title: "Curves",
    count: ({ live }) => live.state.value?.watched.length,
    View: withBar(NoNote, CurvesTools, Curves),
  },
  { name: "evaluate", title: "Evaluate", View: Evaluate },
];
