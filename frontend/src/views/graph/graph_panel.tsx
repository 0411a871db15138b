/** The graph around the op in focus, as a picture that is laid out from its inputs to its consumers. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { sentence, shown } from "../../base/loaded";
import { counted } from "../../base/text";
import { type Layout, type Unplaced, unplaced } from "../../model/graph/layout";
import type { Grouping } from "../../model/graph/near";
import type { GraphPicture } from "../../model/graph/picture";
import type { Part } from "../../model/graph/whole";
import { type Extent, MOST_HOPS, type Until } from "../../store/graph/graph";
import { Choice, optionsOf } from "../choice";
import { useChange } from "../hooks";
import { Button, Failure, Hint } from "../panel";
import type { Of, With } from "../props";
import { Dag } from "./dag";
import { Details } from "./details";

type Uses = "graph" | "follow" | "track" | typeof Dag | typeof Details;

export function GraphPanel({ store }: With<Uses>) {
  const loaded = store.graph.picture.value;
  const picture = shown(loaded);
  const { placed, failure } = useLayout(store, picture);
  return (
    <div class="graph pile short grow" data-testid="graph">
      <Tools store={store} picture={picture} />
      {failure !== undefined && <Failure message={failure} />}
      {loaded?.kind === "failed" ? (
        <Failure message={loaded.message} />
      ) : loaded === undefined ? (
        <Nothing store={store} />
      ) : (
        <div class="graph-body short grow">
          {placed === undefined ? (
            <Hint>Laying out …</Hint>
          ) : (
            <Dag store={store} {...placed} isOld={placed.picture !== picture} />
          )}
          <Details store={store} />
        </div>
      )}
    </div>
  );
}

/** Why nothing is drawn. */
function Nothing({ store }: With<"graph">) {
  return store.graph.extent.value === "near" ? (
    <Hint>Choose a tensor in the graph executions to see the graph around its op.</Hint>
  ) : (
    <Hint>What is in focus ran without a function. Choose a call, or a tensor in the graph executions.</Hint>
  );
}

const EXTENTS: Readonly<Record<Extent, string>> = { near: "around the op", whole: "its whole function" };
const GROUPINGS: Readonly<Record<Grouping, string>> = {
  op: "each op",
  scope: "each scope",
  layer: "each layer",
};
const PARTS: Readonly<Record<Part, string>> = { layer: "each layer", scope: "each scope" };
const UNTILS: Readonly<Record<Until, string>> = { focus: "up to the tensor in focus", end: "at any time" };

function Tools({ store, picture }: With<Uses, { picture: GraphPicture | undefined }>) {
  const { graph } = store;
  return (
    <div class="graph-tools line wrap fixed">
      <Choice
        options={optionsOf(EXTENTS)}
        value={graph.extent.value}
        choose={graph.setExtent}
        label="What is drawn"
        testId="graph-extent"
      />
      {graph.extent.value === "near" ? <NearTools store={store} /> : <WholeTools store={store} />}
      {graph.opened.value.size > 0 && (
        <Button testId="graph-close-boxes" act={() => graph.closeBoxes()} text="Close all boxes" />
      )}
      {picture !== undefined && <Counts store={store} picture={picture} />}
      {picture !== undefined && <First store={store} picture={picture} />}
    </div>
  );
}

function NearTools({ store: { graph } }: With<Uses>) {
  const hops = graph.hops.value;
  return (
    <>
      <label class="line slim">
        <span class="graph-hops">{counted(hops, "hop")}</span>
        <input
          type="range"
          min={1}
          max={MOST_HOPS}
          value={hops}
          aria-label="Hops"
          title="How far the picture reaches (keys 1 to 6)"
          data-testid="graph-hops"
          onInput={({ currentTarget }) => graph.setHops(currentTarget.valueAsNumber)}
        />
      </label>
      <label class="line slim">
        one box for
        <Choice
          options={optionsOf(GROUPINGS)}
          value={graph.grouping.value}
          choose={graph.setGrouping}
          testId="graph-grouping"
        />
      </label>
    </>
  );
}

function WholeTools({ store: { graph } }: With<Uses>) {
  return (
    <>
      <label class="line slim">
        one box for
        <Choice
          options={optionsOf(PARTS)}
          value={graph.part.value}
          choose={graph.setPart}
          testId="graph-part"
        />
      </label>
      <label class="line slim">
        with what was bad
        <Choice
          options={optionsOf(UNTILS)}
          value={graph.until.value}
          choose={graph.setUntil}
          testId="graph-until"
        />
      </label>
    </>
  );
}

/** A link to the op of a whole function that was bad first. */
function First({ store, picture }: With<Uses, { picture: GraphPicture }>) {
  const first = picture.nodes.find(({ isFirst }) => isFirst);
  if (first?.target.kind !== "op") return null;
  const { target } = first;
  return (
    <span class="ellipsis" data-testid="graph-first">
      first bad in <b class="bad">{first.title}</b>:{" "}
      <Button
        testId="graph-first-op"
        title={`Go to ${target.opName}`}
        act={() => store.follow(target)}
        text={target.opName}
      />
    </span>
  );
}

/** What is drawn, and what is not. */
function Counts({ store, picture }: With<Uses, { picture: GraphPicture }>) {
  const { nodes, leftOut } = picture;
  const bad = nodes.filter(({ mark }) => mark.level === "bad").length;
  return (
    <span class="dim" role="status" data-testid="graph-counts">
      {counted(nodes.length, "box", "boxes")}
      {bad > 0 && <b class="bad">, {bad} bad</b>}
      {leftOut !== undefined && `, ${leftOut}`}{" "}
      {leftOut !== undefined && store.graph.mayShowMore.value && (
        <Button testId="graph-more" act={() => store.graph.showMore()} text="Show more" />
      )}
    </span>
  );
}

interface Placed {
  readonly picture: GraphPicture;
  readonly layout: Layout;
}

/** The newest picture that is laid out. One with the same boxes and links as the one before has its layout. */
function useLayout(
  store: Of<"track">,
  picture: GraphPicture | undefined,
): { readonly placed: Placed | undefined; readonly failure: string | undefined } {
  const layouter = useMemo(() => new Layouter(), []);
  useEffect(() => () => layouter.destroy(), []);
  const [placed, setPlaced] = useState<Placed>();
  const [failure, setFailure] = useState<string>();
  const last = useRef<{ readonly shape: string; readonly layout: Layout }>(undefined);
  useChange(() => {
    if (picture === undefined) return;
    const wanted = unplaced(picture);
    const shape = JSON.stringify(wanted);
    if (last.current?.shape === shape) return setPlaced({ picture, layout: last.current.layout });
    store
      .track(layouter.place(wanted))
      .then((layout) => {
        last.current = { shape, layout };
        setFailure(undefined);
        setPlaced({ picture, layout });
      })
      .catch((error: unknown) => {
        if (!(error instanceof Overtaken)) setFailure(`The graph could not be laid out. ${sentence(error)}`);
      });
  }, [picture]);
  return { placed, failure };
}

/** A layout that is not needed any more, because another one is. */
class Overtaken extends Error {}

/**
 * Lays out pictures of graphs, the newest one only, without holding up the page. Lives as long as the view that
 * draws the layouts, which calls `destroy`.
 */
class Layouter {
  #worker: Worker | undefined;
  #overtake = () => {};

  /** Rejects with `Overtaken` when another one is asked for before it is done. */
  place(wanted: Unplaced): Promise<Layout> {
    this.destroy();
    return new Promise((resolve, reject) => {
      this.#overtake = () => reject(new Overtaken());
      const here = () => import("./layered").then(({ layered }) => layered(wanted)).then(resolve, reject);
      try {
        const worker = new Worker(new URL("./layered.ts", import.meta.url), { type: "module" });
        this.#worker = worker;
        worker.onmessage = ({ data }: MessageEvent<Layout>) => {
          this.#end();
          resolve(data);
        };
        // Some hosts of notebooks refuse workers, or their scripts.
        worker.onerror = () => {
          this.#end();
          void here();
        };
        worker.postMessage(wanted);
      } catch {
        void here();
      }
    });
  }

  destroy(): void {
    this.#overtake();
    this.#end();
  }

  #end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}
