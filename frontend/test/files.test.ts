/** `store/files/files.ts`: the line whose ops are listed, the list of files, and the search in them. */
import { describe, expect } from "vitest";
import { fileIndex } from "../src/base/ids";
import { shown } from "../src/base/loaded";
import { writeFilter } from "../src/model/filters";
import type { Link } from "../src/model/link";
import { makeFixture } from "./fixture/fixture";
import { answering, asked, openStore, testOn } from "./open_store";

const LOSS = { file: fileIndex(1), line: 14 };
const TRAIN = { file: fileIndex(0), line: 71 };

async function open(link: Link = {}) {
  const log: string[] = [];
  const answer = answering(makeFixture({ steps: 40, illFrom: 5 }));
  const opened = await openStore((url, init) => {
    log.push(url);
    return answer(url, init);
  }, link);
  const requests = (route: string) => log.filter((url) => asked(url)[0] === route);
  return { ...opened, requests };
}

const it = testOn(() => open());

describe("what a line made", () => {
  it("is there for the file of the focus, without a program that runs", async ({ store }) => {
    expect(store.sourceLine.value?.path).toBe("/home/user/losses.py");
    const lines = shown(store.files.lineOps.value);
    expect(lines?.map(({ line, health }) => [line, health])).toEqual([[14, "bad"]]);
  });

  it("is listed and filters the graph executions, until it is chosen again", async ({ store, settled }) => {
    await settled(store.files.listLine(14));
    expect(store.files.listedLine.value).toBe(14);
    expect(writeFilter(store.wishes.graph_executions.value.filter)).toBe("file:losses.py:14");
    await settled(store.files.listLine(14));
    expect(store.files.listedLine.value).toBeUndefined();
    expect(store.wishes.graph_executions.value.filter).toEqual([]);
  });

  it("leaves the other terms of the filter as they are", async ({ store, settled }) => {
    store.addTerm({ word: "op", sign: "=", value: "Log" });
    await settled(store.files.listLine(14));
    await settled(store.files.closeLine());
    expect(writeFilter(store.wishes.graph_executions.value.filter)).toBe("op=Log");
  });

  it("filters the executions, where it only ran some", async ({ store, settled }) => {
    await settled(store.focusLine(TRAIN));
    await settled(store.files.listLine(71));
    expect(store.shownList.value).toBe("executions");
    expect(writeFilter(store.wishes.executions.value.filter)).toBe("file:train.py:71");
    store.showList("graph_executions");
    expect(store.files.listedLine.value).toBe(71);
  });

  it("is not listed for a line that made nothing", async ({ store, settled }) => {
    await settled(store.files.listLine(3));
    expect(store.wishes.graph_executions.value.filter).toEqual([]);
  });

  it("is listed while its file is shown", async ({ store, settled }) => {
    await settled(store.files.listLine(14));
    await settled(store.focusLine(TRAIN));
    expect(store.files.listedLine.value).toBeUndefined();
    await settled(store.focusLine(LOSS));
    expect(store.files.listedLine.value).toBe(14);
  });

  testOn(() => open({ file: fileIndex(7), line: 1 }))(
    "is not asked of a file that is not on record",
    async ({ requests }) => expect(requests("source_files/ops")).toEqual([]),
  );

  testOn(() => open({ filter: [{ word: "file", sign: ":", value: "losses.py:14" }] }))(
    "is listed by a link with the filter",
    async ({ store }) => expect(store.files.listedLine.value).toBe(14),
  );
});

describe("the list of files", () => {
  it("is requested when it is opened, and leads to a line", async ({ store, settled, requests }) => {
    expect(requests("source_files/counts")).toEqual([]);
    await settled(store.files.show(true));
    expect(shown(store.files.counts.value)).toHaveLength(2);
    await settled(store.files.open(TRAIN));
    expect(store.files.isOpen.value).toBe(false);
    expect(store.sourceLine.value).toMatchObject({ path: "/home/user/train.py", line: 71 });
  });

  it("searches lines when the reader pauses, and no other kinds", async ({ store, tick, requests }) => {
    store.files.show(true);
    store.files.type("lo");
    store.files.type("loss");
    await tick(1);
    const [url] = requests("find").map((one) => asked(one)[1]);
    expect(requests("find")).toHaveLength(1);
    expect([url?.get("text"), url?.get("kinds"), url?.get("limit")]).toEqual(["loss", "lines", "201"]);
    expect(shown(store.files.found.value)?.text).toBe("loss");
  });

  it("searches nothing for one letter, and nothing while it is closed", async ({ store, tick, requests }) => {
    store.files.show(true);
    store.files.type("l");
    await tick(1);
    store.files.show(false);
    store.files.type("loss");
    await tick(2);
    expect(requests("find")).toEqual([]);
  });
});
