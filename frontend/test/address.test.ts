import { computed, signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test } from "vitest";
import { executionIndex, type RunName, runName } from "../src/base/ids";
import type { Link } from "../src/model/link";
import { followAddress } from "../src/store/link/address";

const RUN = runName("r");

/** A browser's window. A new hash is there at once; its event comes when the test lets it. */
class FakeWindow extends EventTarget {
  readonly location = { pathname: "/", search: "", hash: "#debugger" };
  readonly history = {
    state: null,
    replaceState: (_state: unknown, _title: string, url: string) => {
      this.location.hash = url.slice(url.indexOf("#"));
    },
  };
  event(): void {
    this.dispatchEvent(new Event("hashchange"));
  }
}

/** A store of which only the execution in focus is in the link. */
function makeStore() {
  const execution = signal(executionIndex(0));
  const run = signal<RunName | undefined>(RUN);
  const opened: Link[] = [];
  return {
    execution,
    run,
    seen: signal(true),
    link: computed<Link>(() => ({ run: run.value, execution: execution.value })),
    opened,
    selectRun(name: RunName): void {
      run.value = name;
    },
    async open(link: Link): Promise<void> {
      opened.push(link);
      if (link.execution !== undefined) execution.value = link.execution;
    },
  };
}

let outer = new FakeWindow();
let store = makeStore();
let stop = () => {};
const shown = (execution: number, run: string = RUN) =>
  `#debugger&p.debugger.run=${run}&p.debugger.execution=${execution}`;

beforeEach(() => {
  outer = new FakeWindow();
  store = makeStore();
  stop = followAddress(store, outer as unknown as Window);
});
afterEach(() => stop());

test("the address follows what is shown, and what is shown follows the address", () => {
  expect(outer.location.hash).toBe(shown(0));
  store.execution.value = executionIndex(1);
  expect(outer.location.hash).toBe(shown(1));
  outer.location.hash = shown(2, "other");
  outer.event();
  expect(store.opened).toEqual([{ run: "other", execution: 2 }]);
  expect([store.run.value, store.execution.value]).toEqual(["other", 2]);
});

test("a link whose event is on its way is read, not overwritten, and read once", () => {
  outer.location.hash = shown(7, "other");
  store.execution.value = executionIndex(1);
  expect([store.run.value, store.execution.value]).toEqual(["other", 7]);
  outer.event();
  expect(outer.location.hash).toBe(shown(7, "other"));
  expect(store.opened).toHaveLength(1);
});

test("a key whose event is on its way stays in the address until it is taken", () => {
  const hash = `${shown(7)}&p.debugger.key=abc`;
  outer.location.hash = hash;
  store.execution.value = executionIndex(1);
  expect([outer.location.hash, store.opened]).toEqual([hash, []]);
  outer.location.hash = shown(7);
  outer.event();
  expect(store.execution.value).toBe(7);
});

test("the address of another tab stays, and a hidden tab writes none", () => {
  outer.location.hash = "#scalars";
  store.execution.value = executionIndex(1);
  expect(outer.location.hash).toBe("#scalars");
  store.seen.value = false;
  outer.location.hash = shown(0);
  store.execution.value = executionIndex(2);
  expect(outer.location.hash).toBe(shown(0));
  expect(store.opened).toEqual([]);
});

test("an address that says nothing of us is written again with the next change", () => {
  outer.location.hash = "#debugger&other=1";
  store.execution.value = executionIndex(3);
  expect(outer.location.hash).toBe(shown(3).replace("&", "&other=1&"));
});

test("a write that the browser ignores is not taken for the reader's", () => {
  outer.history.replaceState = () => {};
  for (const i of [1, 2]) store.execution.value = executionIndex(i);
  expect([outer.location.hash, store.opened]).toEqual([shown(0), []]);
});
