/**
 * The tabs over the upper sections: the recording, and the panels of what else there is, such as a program that
 * runs. Without any panel there are no tabs, and the recording is shown.
 */
import type { ComponentChildren, FunctionComponent } from "preact";
import { useRef } from "preact/hooks";
import { shown } from "../base/loaded";
import { rowOfKey } from "../model/keys";
import type { DockName } from "../store/dock/dock";
import type { Store } from "../store/store";
import { lazy } from "./lazy";
import { PROGRAM_PANELS } from "./live/panels";
import { Button } from "./panel";
import type { With } from "./props";

export interface DockPanel {
  readonly name: DockName;
  readonly title: string;
  /** Whether there is anything to show; a panel of a program is there while the program is. */
  readonly isThere?: (store: Store) => boolean;
  /** A count beside the title. */
  readonly count?: (store: Store) => number | undefined;
  readonly View: FunctionComponent<With>;
}

const hasTensors = ({ status }: Store) => (status.value?.num_graph_executions ?? 0) > 0;
const hasRows = (store: Store) => hasTensors(store) || (store.status.value?.num_executions ?? 0) > 0;

/** All panels, in the order of their tabs. */
const PANELS: readonly DockPanel[] = [
  {
    name: "glance",
    title: "At a glance",
    isThere: hasRows,
    View: lazy(async () => (await import("./glance")).GlancePanel),
  },
  {
    name: "timeline",
    title: "Timeline",
    isThere: hasRows,
    View: lazy(async () => (await import("./timeline/timeline_panel")).TimelinePanel),
  },
  {
    name: "graph",
    title: "Graph",
    isThere: hasTensors,
    View: lazy<With>(async () => (await import("./graph/graph_panel")).GraphPanel),
  },
  {
    name: "gradients",
    title: "Gradients",
    isThere: hasTensors,
    View: lazy(async () => (await import("./curves/gradients")).GradientsPanel),
  },
  ...PROGRAM_PANELS,
  {
    name: "comparison",
    title: "Comparison",
    isThere: ({ comparison }) => comparison.other.value !== undefined,
    count: ({ comparison }) => shown(comparison.compared.value)?.answer.num_tensors,
    View: lazy<With>(async () => (await import("./comparison/comparison")).ComparisonPanel),
  },
];

const hasProgram = ({ live }: Store): boolean => live.program.value !== undefined;

interface DockProps extends With {
  /** The recording's own sections. */
  readonly children: ComponentChildren;
}

export function Dock({ store, children }: DockProps) {
  const panels = PANELS.filter(({ isThere = hasProgram }) => isThere(store));
  if (panels.length === 0) return <div class="middle">{children}</div>;
  const open = panels.find(({ name }) => name === store.dock.open.value);
  return (
    <div class="dock slim short pile">
      <Tabs store={store} panels={panels} open={open} />
      {open === undefined ? (
        <div class="middle" id="dock-panel" role="tabpanel" aria-labelledby="dock-tab-recording">
          {children}
        </div>
      ) : (
        <section
          class="panel dock-panel"
          id="dock-panel"
          role="tabpanel"
          aria-labelledby={`dock-tab-${open.name}`}
          data-testid={`dock-${open.name}`}
        >
          <open.View store={store} />
        </section>
      )}
    </div>
  );
}

function Tabs({
  store,
  panels,
  open,
}: With<keyof Store, { panels: readonly DockPanel[]; open: DockPanel | undefined }>) {
  const list = useRef<HTMLDivElement>(null);
  const names = [undefined, ...panels.map(({ name }) => name)];
  const onKey = (event: KeyboardEvent) => {
    const last = names.length - 1;
    const to = rowOfKey(event.key, { arrows: "across", from: names.indexOf(open?.name), page: 0, last });
    if (to === undefined || to < 0 || to > last) return;
    event.preventDefault();
    store.dock.show(names[to]);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
  };
  return (
    <div ref={list} class="dock-tabs fixed" role="tablist" aria-label="Upper sections" onKeyDown={onKey}>
      <Tab store={store} name={undefined} title="Recording" isOpen={open === undefined} />
      {panels.map((panel) => (
        <Tab
          key={panel.name}
          store={store}
          name={panel.name}
          title={panel.title}
          count={panel.count?.(store)}
          isOpen={panel === open}
        />
      ))}
    </div>
  );
}

interface TabProps extends With<"dock.show"> {
  readonly name: DockName | undefined;
  readonly title: string;
  readonly count?: number | undefined;
  readonly isOpen: boolean;
}

function Tab({ store, name, title, count, isOpen }: TabProps) {
  return (
    <Button
      class="dock-tab dim fixed"
      role="tab"
      id={`dock-tab-${name ?? "recording"}`}
      aria-selected={isOpen}
      aria-controls="dock-panel"
      tabIndex={isOpen ? 0 : -1}
      testId={`dock-tab-${name ?? "recording"}`}
      act={() => store.dock.show(name)}
    >
      {title}
      {count !== undefined && count > 0 && <span class="dock-count bold">{count}</span>}
    </Button>
  );
}
