import { describe, expect, test } from "vitest";
import type { Fetch } from "../../src/api/fetch";
import type { ValueRef } from "../../src/api/values";
import { graphExecutionIndex } from "../../src/base/ids";
import { shown } from "../../src/base/loaded";
import type { Link } from "../../src/model/link";
import type { Store } from "../../src/store/store";
import { makeFixture } from "../fixture/fixture";
import { answering, asked, openStore, testOn } from "../open_store";

const STEPS = 40;
const PER_STEP = 10;
/** Log:0 of a step. */
const LOG = 5;

const logOf = (step: number): ValueRef => ({
  kind: "graph_execution",
  index: graphExecutionIndex(step * PER_STEP + LOG),
});

/** A store on the fixture, with the addresses of its requests for values. */
async function open(link: Link = {}, steps = STEPS) {
  const answers = answering(makeFixture({ steps, illFrom: 5 }));
  const log: string[] = [];
  const fetcher: Fetch = (url, init) => {
    const [route, query] = asked(url);
    if (route.startsWith("values")) log.push(`${route} ${query.get("graph_execution")}`);
    return answers(url, init);
  };
  return { log, ...(await openStore(fetcher, link)) };
}

const it = testOn(open);

/** The value at the beginning of the picture. */
const firstElement = (store: Store) => shown(store.valuePicture.value)?.grid.mean[0];

describe("the value view", () => {
  it("asks for nothing while it is closed", async ({ log }) => {
    expect(log).toEqual([]);
  });

  it("asks for the picture first, then for its numbers and its history", async ({ store, log, settled }) => {
    await settled(store.showValue(logOf(2)));
    expect(log).toEqual(["values/info 25", "values 25", "values/summary 25", "values/history 25"]);
    expect(store.valueView.value?.slicing).toBe("[:, :]");
    expect(firstElement(store)).toBe(2500);
  });

  test("of a value that was not kept asks only what it is, and its history", async () => {
    const { store, log, settled } = await open();
    await settled(store.showValue({ kind: "graph_execution", index: graphExecutionIndex(2) }));
    expect(store.valueView.value?.info.reason).toBe("Only its summary was recorded.");
    expect(log).toEqual(["values/info 2", "values/history 2"]);
  });

  test("goes to another occurrence with the same slice, element and history", async () => {
    const { store, log, settled } = await open();
    await settled(store.showValue(logOf(2)));
    store.setSlicing("[1, :]");
    await settled(store.setCell({ row: 0, column: 2 }));
    expect(store.valueElement.value).toBe("[1, 2]");
    log.length = 0;
    await settled(store.showOccurrence(logOf(7)));
    expect(log).toEqual(["values/info 75", "values 75", "values/summary 75"]);
    expect(store.valueView.value?.slicing).toBe("[1, :]");
    expect(shown(store.valueHistory.value)?.columns.get("value")?.[7]).toBe(7512);
  });

  test("opens at an element, in whatever it was opened before", async () => {
    const { store, settled } = await open();
    await settled(store.showElement(logOf(2), [1, 2]));
    expect(store.valueView.value?.slicing).toBe("[:, :]");
    expect(store.valueElement.value).toBe("[1, 2]");
    store.swapAxes();
    store.setSlicing("[1, :]");
    await settled(store.setValueTab("curve"));
    await settled(store.showElement(logOf(2), [0, 1]));
    expect([store.valueView.value?.slicing, store.isSwapped.value]).toEqual(["[:, :]", false]);
    expect([store.valueElement.value, store.valueTab.value]).toEqual(["[0, 1]", "picture"]);
  });

  test("fetches another part of a long history when the reader goes there", async () => {
    const { store, settled } = await open({}, 2500);
    await settled(store.showValue(logOf(7)));
    const range = () => [shown(store.valueHistory.value)?.begin, shown(store.valueHistory.value)?.end];
    expect(range()).toEqual([0, 1000]);
    await settled(store.seekHistory(2100));
    expect(range()).toEqual([2000, 2500]);
    await settled(store.showOccurrence(logOf(2100)));
    expect(range()).toEqual([2000, 2500]);
    expect(store.valueView.value?.info.occurrence).toBe(2100);
  });

  test("shows the picture before while another occurrence is loading, and mixes nothing", async () => {
    const { store, settled } = await open();
    await settled(store.showValue(logOf(2)));
    store.showOccurrence(logOf(3));
    expect(store.valueView.value?.ref).toEqual(logOf(2));
    expect(firstElement(store)).toBe(2500);
    await settled();
    expect(store.valueView.value?.ref).toEqual(logOf(3));
    expect(firstElement(store)).toBe(3500);
  });

  test("transposes the picture when the axes are swapped, and keeps the element", async () => {
    const { store, settled } = await open();
    store.showValue(logOf(0));
    await settled(store.setCell({ row: 1, column: 2 }));
    await settled(store.swapAxes());
    const grid = shown(store.valuePicture.value)?.grid;
    expect([grid?.height, grid?.width, grid?.mean[1]]).toEqual([3, 2, 510]);
    expect(store.cell.value).toEqual({ row: 2, column: 1 });
    expect(store.valueElement.value).toBe("[1, 2]");
  });

  it("has the sentence of the server for a wrong slice, and recovers", async ({ store, settled }) => {
    store.showValue(logOf(0));
    await settled(store.setSlicing("[9]"));
    expect(store.valuePicture.value).toEqual({ kind: "failed", message: "There is no element 9." });
    await settled(store.setSlicing(""));
    expect(firstElement(store)).toBe(500);
  });

  it("counts the elements of a range; a text that is no number is no range", async ({ store, settled }) => {
    store.showValue(logOf(0));
    await settled(store.setRange({ low: "10", high: "" }));
    expect(shown(store.valueSummary.value)?.in_range).toBe(3);
    await settled(store.setRange({ low: "10", high: "x" }));
    expect(shown(store.valueSummary.value)).toMatchObject({ size: 6, in_range: undefined });
  });
});

describe("a link", () => {
  test("opens the value with its slice, and is written again", async () => {
    const link: Link = { value: logOf(1), slicing: "[:, 1]", tab: "table" };
    const { store } = await open(link);
    expect(store.valueView.value).toMatchObject({ ref: logOf(1), slicing: "[:, 1]" });
    expect(store.link.value).toMatchObject(link);
  });

  test("without a value closes the view", async () => {
    const { store } = await open({ value: logOf(1) });
    await store.open({});
    expect(store.value.value).toBeUndefined();
    expect(store.link.value.value).toBeUndefined();
    expect(store.valueView.value).toBeUndefined();
  });
});

it("a run in another mode has no button for the first cause", async ({ store }) => {
  expect(store.originList.value?.kind).toBe("ready");
  expect(store.originValue.value).toEqual({ kind: "ready", value: undefined });
});
