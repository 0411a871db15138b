import { expect, test } from "vitest";
import {
  alertIndex,
  executionIndex,
  fileIndex,
  frameId,
  graphExecutionIndex,
  graphId,
  runName,
} from "../src/base/ids";
import { readFilter } from "../src/model/filters";
import { isOurs, keyIn, type Link, readLink, withoutKey, writeLink } from "../src/model/link";

const LINK: Link = {
  run: runName("a b/c=d&e#f"),
  other: runName("ä/other=1"),
  execution: executionIndex(119),
  trace: graphExecutionIndex(0),
  graph: graphId("ü-1"),
  op: "scope/Log",
  frame: frameId("31af-e7"),
  file: fileIndex(3),
  line: 14,
  host: "worker-0",
  layer: "^a/b(/|$)",
  list: "executions",
  filter: readFilter('op=Log process:"vm (process 7)" max>1e4 name:a&b=c'),
  sort: { column: "max", descending: true },
  onlyBad: true,
  alertType: "A rule & its=id",
  alert: alertIndex(7),
  subject: "op",
  value: { kind: "execution", index: executionIndex(3), slot: 1 },
  slicing: "[0, :, ::2]",
  swapped: true,
  tab: "table",
  part: "imag",
  panel: "timeline",
  axis: "sequence",
  window: { begin: 1764150000.25, end: 1764150001.125 },
};

test("a link restores its parts, with any characters in the names", () => {
  expect(readLink(writeLink("#debugger", LINK))).toEqual(LINK);
});

test("the keys of others stay, ours are replaced", () => {
  const hash = writeLink("#debugger&runSelection=x&p.debugger.trace=7&p.other.trace=8", {
    trace: graphExecutionIndex(9),
  });
  expect(hash).toBe("#debugger&runSelection=x&p.other.trace=8&p.debugger.trace=9");
});

test("wrong parts of a hand-made link are ignored", () => {
  expect(
    readLink(
      "#debugger&p.debugger.trace=-1&p.debugger.execution=abc&p.debugger.subject=nobody&p.debugger.onlyBad=perhaps&p.debugger.step=x&p.debugger.alert=x&p.debugger.op=%E0%A4%A&junk",
    ),
  ).toEqual({ op: "%E0%A4%A" });
  expect(readLink("")).toEqual({});
});

test("a slice without a value, and a value that is none, are ignored", () => {
  expect(readLink("#debugger&p.debugger.slicing=[0]&p.debugger.tab=table")).toEqual({});
  expect(readLink("#debugger&p.debugger.value=x3")).toEqual({});
  expect(readLink("#debugger&p.debugger.value=t12&p.debugger.part=half&p.debugger.tab=other")).toEqual({
    value: { kind: "graph_execution", index: 12 },
  });
});

test("a panel of a program that runs, and a window that is none, are ignored", () => {
  const link = "#debugger&p.debugger.panel=breakpoints&p.debugger.axis=time&p.debugger.window=";
  for (const window of ["", "1", "2..1", "1..1", "a..b", "1..2..3", "1..Infinity", "-1e999..1"])
    expect(readLink(link + window)).toEqual({});
});

test("only our tab's address is ours", () => {
  expect(["", "#", "#debugger", "#debugger&a=b"].map(isOurs)).toEqual([true, true, true, true]);
  expect(["#scalars", "#debugger-v2", "#debugger-v2&p.debugger.trace=1"].map(isOurs)).toEqual([
    false,
    false,
    false,
  ]);
});

test("the key comes from an address or from what is pasted, and is in no link", () => {
  const hash = "#debugger&p.debugger.key=a-B_9&p.debugger.run=x";
  expect(keyIn(hash)).toBe("a-B_9");
  expect(keyIn(`http://localhost:6006/${hash}`)).toBe("a-B_9");
  expect(keyIn("p.debugger.key=a-B_9 \n")).toBe("a-B_9");
  expect(keyIn("a-B_9")).toBeUndefined();
  expect(withoutKey(hash)).toBe("#debugger&p.debugger.run=x");
  expect(writeLink(hash, readLink(hash))).not.toContain("key");
});
