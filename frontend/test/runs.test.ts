/** `src/model/runs.ts` and `src/store/runs`: the list of runs, what it opens, compares and keeps. */
import { describe, expect, test } from "vitest";
import { run as check, type Run, type Runs } from "../src/api/answers";
import { runName } from "../src/base/ids";
import {
  ageWords,
  badgeOf,
  chosenAfter,
  FIRST_ORDER,
  foundRows,
  pageTitle,
  pairOf,
  type RunColumn,
  runRows,
  runToOpen,
  sortedRows,
  titleOf,
  turned,
} from "../src/model/runs";
import { makeFixture } from "./fixture/fixture";
import { asked, openStore, response } from "./open_store";
import { random } from "./random";

const NOW = 1_000_000;

function verdict(kind: string, isGood = false) {
  return { kind, headline: `It is ${kind}`, sentences: [], doubts: [], is_good: isGood, num_alerts: null };
}

function run(more: Record<string, unknown> = {}): Run {
  return check({ start_time: 1, title: "r", verdict: null, state: "unread", ...more }, "run");
}

type Begun = Readonly<Record<string, readonly [ago: number, kind?: string | undefined, written?: number]>>;
type Opened = readonly [words: string, runs: Begun, expected: string | undefined];

/** Runs by name: how many seconds ago each began, and its verdict. */
function begun(runs: Begun): Runs {
  return new Map(
    Object.entries(runs).map(([name, [ago, kind, written]]) => [
      name,
      run({
        start_time: NOW - ago,
        title: name,
        verdict: kind === undefined ? null : verdict(kind, kind === "nothing"),
        written: written === undefined ? NOW - ago : NOW - written,
      }),
    ]),
  );
}

describe("the run that the page opens", () => {
  test.each([
    ["none where there is none", {}, undefined],
    ["the latest where none is judged", { a: [900], b: [800] }, "b"],
    ["the worst of the judged", { a: [900, "nothing"], b: [800, "bad"], c: [700, "rules"] }, "b"],
    ["the latest of equals", { a: [900, "bad"], b: [800, "bad"], c: [700, "nothing"] }, "b"],
    ["no bad one of an hour before the newest", { a: [9000, "bad"], b: [800, "nothing"] }, "b"],
    ["a judged one before a later one that is not", { a: [900, "bad"], b: [800] }, "a"],
    ["the latest while it is recorded", { a: [900, "bad"], b: [800, undefined, 5] }, "b"],
    ["not a recorded one that is judged", { a: [900, "bad"], b: [800, "nothing", 5] }, "a"],
    ["a good one before an empty one", { a: [900, "nothing"], b: [800, "empty"] }, "a"],
  ] as readonly Opened[])("is %s", (_, runs, expected) => {
    expect(runToOpen(begun(runs), NOW)).toBe(expected);
  });
});

test("a run is named by its title, and one that is not listed by its name", () => {
  const runs = new Map([["a", run({ title: "A 1" })]]);
  expect(["a", "c"].map((name) => titleOf(runs, runName(name)))).toEqual(["A 1", "c"]);
});

test("a badge says the verdict in words, the worst first, and why there is none", () => {
  const kinds = ["bad", "rules", "unmeasured", "nothing", "empty"];
  const badges = kinds.map((kind) => badgeOf(run({ verdict: verdict(kind) })));
  expect(badges.map(({ mark, words }) => mark + words)).toEqual([
    "✗ bad values",
    "! alerts",
    "not measured",
    "all finite, with gaps",
    "empty",
  ]);
  expect(badges.map(({ rank }) => rank)).toEqual([...badges.map(({ rank }) => rank)].sort());
  expect(badgeOf(run({ verdict: verdict("nothing", true) }))).toMatchObject({ mark: "✓ ", look: "good" });
  expect(badgeOf(run({ verdict: verdict("of a later version") })).words).toBe("of a later version");
  const states = ["unread", "judging", "failed"].map((state) => badgeOf(run({ state })).words);
  expect(states).toEqual(["not judged yet", "being judged …", "could not be judged"]);
});

test("a row says what its program does, and is live while its files change", () => {
  const runs = new Map([
    ["old", run({ written: NOW - 61 })],
    ["new", run({ written: NOW - 59 })],
    ["ahead", run({ written: NOW + 5 })],
    ["stopped", run({ written: NOW - 1 })],
    ["elsewhere", run()],
  ]);
  const rows = runRows(runs, [{ run: runName("stopped"), situation: "paused" }], NOW);
  expect(rows.map(({ state }) => state)).toEqual(["", "live", "live", "paused", ""]);
  expect(rows.map(({ age }) => age)).toEqual([61, 59, 0, 1, undefined]);
});

test.each([
  [0, "0 s ago"],
  [59.9, "59 s ago"],
  [60, "1 min ago"],
  [3600, "1 h ago"],
  [47.9 * 3600, "47 h ago"],
  [48 * 3600, "2 days ago"],
])("%d seconds are %s", (seconds, words) => expect(ageWords(seconds)).toBe(words));

test("rows are found by words of name, verdict, mode and state, in any case", () => {
  const runs = new Map([
    ["a", run({ title: "sweep/lr1", verdict: verdict("bad"), mode: "FULL_HEALTH" })],
    ["b", run({ title: "sweep/lr2", mode: "CURT_HEALTH" })],
  ]);
  const found = (text: string) => foundRows(runRows(runs, [], NOW), text).map(({ name }) => name);
  expect(found("")).toEqual(["a", "b"]);
  expect(found(" SWEEP lr2 ")).toEqual(["b"]);
  expect(found("bad full")).toEqual(["a"]);
  expect(found("bad lr2")).toEqual([]);
});

test("rows are sorted by any column, those without a value last, also the other way round", () => {
  const below = random(3);
  const some = <T>(...values: readonly T[]) => values[below(values.length)];
  const runs = new Map(
    Array.from({ length: 60 }, (_, i) => [
      `run${i}`,
      run({
        title: `run${i}`,
        bytes: some(null, 1, 20, 300),
        written: some(null, NOW - 5, NOW - 500),
        mode: some(null, "A", "B"),
        processes: some(null, 1, 2),
        verdict: some(null, verdict("bad"), verdict("nothing")),
      }),
    ]),
  );
  const rows = runRows(runs, [], NOW);
  for (const column of ["title", "badge", "mode", "bytes", "age", "processes", "state"] as RunColumn[]) {
    const up = sortedRows(rows, { column, isDescending: false });
    const down = sortedRows(rows, { column, isDescending: true });
    const value = (row: (typeof rows)[number]) => (column === "badge" ? row.badge.rank : row[column]);
    const known = (sorted: typeof rows) => sorted.map(value).filter((one) => one !== undefined && one !== "");
    expect(known(down)).toEqual([...known(up)].reverse());
    for (const sorted of [up, down])
      expect(sorted.slice(known(up).length).every((row) => [undefined, ""].includes(value(row) as ""))).toBe(
        true,
      );
    expect(new Set(up)).toEqual(new Set(rows));
  }
  const names = sortedRows(rows, { column: "title", isDescending: false }).map(({ title }) => title);
  expect(names.slice(0, 3)).toEqual(["run0", "run1", "run2"]);
});

test("a click on a title sorts by it, and another one turns the order round", () => {
  const bySize = turned(FIRST_ORDER, "bytes");
  expect(bySize).toEqual({ column: "bytes", isDescending: true });
  expect(turned(bySize, "bytes")).toEqual({ column: "bytes", isDescending: false });
  expect(turned(bySize, "title")).toEqual({ column: "title", isDescending: false });
});

test("two runs are compared: the ticked ones, or one with that in focus", () => {
  const [a, b, c] = ["a", "b", "c"].map(runName) as [ReturnType<typeof runName>, never, never];
  expect([a, b, c, b].reduce(chosenAfter, [] as readonly (typeof a)[])).toEqual([c]);
  expect([a, b, c].reduce(chosenAfter, [] as readonly (typeof a)[])).toEqual([b, c]);
  expect(pairOf([], a)).toBeUndefined();
  expect(pairOf([a], a)).toBeUndefined();
  expect(pairOf([b], undefined)).toBeUndefined();
  expect(pairOf([b], a)).toEqual([a, b]);
  expect(pairOf([b, c], a)).toEqual([b, c]);
  expect(pairOf([b, a], a)).toEqual([a, b]);
});

test("the title of the page is the run and its verdict", () => {
  const found = run({ verdict: verdict("bad") }).verdict;
  expect(pageTitle("train", found)).toBe("✗ train · It is bad · Debugger");
  expect(pageTitle("train", undefined)).toBe("train · Debugger");
  expect(pageTitle(undefined, undefined)).toBe("Debugger");
});

/** The fixture as two runs, with notes that are kept as the server does. */
async function open() {
  const answer = makeFixture({ steps: 4, illFrom: 2 });
  const notes = new Map<string, string>();
  const state = { isRefused: false };
  const facts = { start_time: 1, verdict: null, state: "unread", mode: "FULL_HEALTH" };
  const runs = { "digits/first": { ...facts, title: "first" }, second: { ...facts, title: "second" } };
  const key = { current: () => "key", ask: async () => undefined };
  const opened = await openStore(
    async (url, init) => {
      const [route, query] = asked(url);
      if (route === "runs") return response({ json: runs });
      if (route === "note")
        return response({
          json: { note: notes.get(query.get("run") ?? "") ?? "", file: "n.md", why_fixed: "" },
        });
      if (route === "note/write") {
        if (state.isRefused) return response({ json: { error: "It is full." }, status: 403 });
        const { run, note, instead_of } = JSON.parse(init.body ?? "{}");
        if (instead_of !== (notes.get(run) ?? ""))
          return response({ json: { error: "It was changed." }, status: 400 });
        notes.set(run, note);
        return response({ json: { file: "n.md" } });
      }
      return response(answer(route, query));
    },
    { run: runName("digits/first") },
    key,
  );
  return { ...opened, notes, state };
}

describe("the list of runs", () => {
  test("asks for the note only while it is open, and again when it was saved", async () => {
    const { store, settled, notes } = await open();
    expect(store.runList.note.value).toBeUndefined();
    const close = store.runList.open();
    await settled();
    expect(store.runList.note.value).toMatchObject({ kind: "ready", value: { note: "", why_fixed: "" } });
    await settled(store.runList.write(runName("digits/first"), "mine", ""));
    expect(store.runList.note.value).toMatchObject({ kind: "ready", value: { note: "mine" } });
    expect([...notes]).toEqual([["digits/first", "mine"]]);
    close();
    expect(store.runList.note.value).toBeUndefined();
  });

  test("says why a note was not saved, and keeps it, until one is", async () => {
    const { store, settled, state } = await open();
    state.isRefused = true;
    store.runList.draft(runName("second"), "x");
    await settled(store.runList.write(runName("second"), "x", ""));
    expect(store.runList.failure.value).toBe("It is full.");
    expect([...store.runList.drafts.value]).toEqual([["second", "x"]]);
    state.isRefused = false;
    await settled(store.runList.write(runName("second"), "x", ""));
    expect(store.runList.failure.value).toBeUndefined();
    expect(store.runList.drafts.value.size).toBe(0);
  });

  test("shows what somebody else wrote before it replaces it", async () => {
    const { store, settled, notes } = await open();
    const run = runName("digits/first");
    const close = store.runList.open();
    store.runList.draft(run, "mine");
    notes.set(run, "theirs");
    await settled(store.runList.write(run, "mine", ""));
    expect(store.runList.failure.value).toBe("It was changed.");
    expect(store.runList.note.value).toMatchObject({ kind: "ready", value: { note: "theirs" } });
    expect(store.runList.drafts.value.get(run)).toBe("mine");
    await settled(store.runList.write(run, "mine", "theirs"));
    expect(notes.get(run)).toBe("mine");
    close();
  });

  test("compares the ticked run with the one in focus", async () => {
    const { store, settled } = await open();
    store.runList.choose(runName("second"));
    const pair = store.runList.pair.value;
    expect(pair).toEqual(["digits/first", "second"]);
    if (pair !== undefined) await settled(store.runList.compare(pair));
    expect([store.run.value, store.comparison.other.value]).toEqual(["digits/first", "second"]);
    expect(store.runList.chosen.value).toEqual([]);
  });

  test("names the page by the run in focus, and its rows age while it is open", async () => {
    const { store, settled, timer, tick } = await open();
    expect(store.title.value).toContain("first · ");
    const close = store.runList.open();
    await tick(timer.time + 20);
    expect(store.runList.now.value).toBe(timer.time);
    await settled(close());
  });
});
