/** `store/timeline/timeline.ts`: what is asked for the timeline and when, and the range that filters the lists. */
import { describe, expect } from "vitest";
import { runName } from "../src/base/ids";
import { valueIn } from "../src/model/filters";
import type { Answer } from "./fixture/answer";
import { makeFixture } from "./fixture/fixture";
import { answering, openStore, testOn } from "./open_store";

const EMPTY = { generation: 1, first: 10, last: 20, tracks: [], steps: [] };

/** A store, and the queries of the timeline; no row ends after second 19. */
async function opened() {
  const program = makeFixture({ steps: 4, illFrom: 2 });
  const queries: Record<string, string>[] = [];
  const open = await openStore(
    answering((name, query): Answer => {
      if (name !== "timeline") return program(name, query);
      queries.push(Object.fromEntries(query));
      const begin = Number(query.get("begin") ?? 10);
      const times = begin < 19 ? { since: begin, until: 19 } : { since: null, until: null };
      return { json: { ...EMPTY, begin, end: Number(query.get("end") ?? 20), num_bins: 1, ...times } };
    }),
  );
  return { ...open, queries };
}

const testIt = testOn(opened);

describe("the timeline", () => {
  testIt(
    "is asked for while it is seen, and a window once it rests",
    async ({ store, settled, tick, queries }) => {
      const { timeline } = store;
      timeline.setWidth(800);
      await settled();
      expect(queries).toEqual([]);
      store.dock.show("timeline");
      await settled();
      expect(queries.map(({ bins }) => bins)).toEqual(["400", "400"]);
      for (const begin of [11, 12, 13]) timeline.look({ begin, end: begin + 2 });
      expect(timeline.window.value).toEqual({ begin: 13, end: 15 });
      await tick();
      expect(queries.slice(2)).toMatchObject([{ axis: "time", begin: "13", end: "15" }]);
      timeline.setAxis("sequence");
      await settled();
      expect(timeline.window.value).toEqual({ begin: 10, end: 20 });
      expect(queries.at(-1)).toMatchObject({ axis: "sequence" });
    },
  );

  testIt("keeps no window and no range for another run", async ({ store, settled }) => {
    store.timeline.setWidth(800);
    store.dock.show("timeline");
    await settled();
    store.timeline.look({ begin: 11, end: 12 });
    await settled(store.timeline.choose({ begin: 12, end: 14 }));
    expect(store.timeline.chosen.value).toEqual({ begin: 12, end: 14 });
    store.selectRun(runName("another"));
    expect([store.timeline.chosen.value, store.timeline.window.value?.begin === 11]).toEqual([
      undefined,
      false,
    ]);
  });

  testIt("is in the link, with its axis and its window", async ({ store, settled, queries }) => {
    store.timeline.setWidth(800);
    await settled(store.open({ panel: "timeline", axis: "sequence", window: { begin: 11, end: 13 } }));
    expect(store.dock.open.value).toBe("timeline");
    expect(queries.at(-1)).toMatchObject({ axis: "sequence", begin: "11", end: "13" });
    expect(store.link.value).toMatchObject({ axis: "sequence", window: { begin: 11, end: 13 } });
    store.dock.show("breakpoints");
    expect([store.link.value.panel, store.link.value.window]).toEqual([undefined, undefined]);
  });

  testIt(
    "filters both lists by the times of a range, until all rows are shown",
    async ({ store, settled }) => {
      const since = () =>
        Object.values(store.wishes).map(({ value }) => [
          valueIn(value.filter, "since"),
          valueIn(value.filter, "before"),
        ]);
      await settled(store.timeline.choose({ begin: 12, end: 14 }));
      expect(since()).toEqual([
        ["12", "19"],
        ["12", "19"],
      ]);
      store.forgetWord("since");
      expect(store.timeline.chosen.value).toBeUndefined();
      await settled(store.timeline.choose({ begin: 12, end: 14 }));
      expect(store.timeline.chosen.value).toEqual({ begin: 12, end: 14 });
      store.timeline.showAllRows();
      expect(since()).toEqual([
        [undefined, undefined],
        [undefined, undefined],
      ]);
      await settled(store.timeline.choose({ begin: 19.5, end: 20 }));
      expect(store.timeline.chosen.value).toBeUndefined();
    },
  );

  testIt(
    "opens a row, the first bad one of several, and else shows them nearer",
    async ({ store, settled, tick }) => {
      store.dock.show("timeline");
      await settled();
      const place = { x: 0, y: 0, width: 1, height: 1, lane: 0, track: "vm", begin: 12, end: 13 };
      const several = { ...place, kind: "bin", list: "executions", count: 9, share: 1 } as const;
      store.timeline.open({ ...several, bad: 1, firstBad: 2 });
      expect(store.execution.value).toBe(2);
      store.timeline.open({ ...several, bad: 0, firstBad: undefined });
      await tick();
      expect(store.timeline.window.value?.begin).toBeCloseTo(11.75);
      expect(store.timeline.window.value?.end).toBeCloseTo(13);
    },
  );
});
