import { describe, expect, test } from "vitest";
import { executionIndex, graphId, programId, runName } from "../../src/base/ids";
import type { Link } from "../../src/model/link";
import { atLine } from "../../src/model/live/places";
import { focusText } from "../focus_text";
import { openStore, testOn } from "../open_store";
import { breakpoint, KEYS, LiveServer, type Program, pause, program, state, tensor } from "./fixture";

async function open(server = new LiveServer(), link: Link = {}) {
  const opened = await openStore(server.fetch, link, KEYS);
  const change = (...programs: Program[]) => opened.settled(server.change(programs));
  return { live: opened.store.live, server, change, ...opened };
}

const it = testOn(open);

const hitAtLog = (number: number) =>
  program(
    {},
    {
      version: 1 + number,
      pause: pause({ number, reason: "breakpoint", tensor: tensor(), sentence: "NaN in Log:0" }),
    },
  );

describe("programs that run", () => {
  test("are followed by one waiting request at a time, which is no activity", async () => {
    const { live, server, change, store } = await open();
    expect(live.program.value?.id).toBe("p1");
    expect([server.polls, store.busy.value]).toEqual([2, false]);
    await change(program({}, { version: 2, phase: "running" }));
    expect(live.state.value?.phase).toBe("running");
    expect(server.polls).toBe(3);
  });

  it("are not followed while the tab is hidden", async ({ store, server, settled, tick }) => {
    store.setSeen(false);
    server.change([program()]);
    await tick();
    expect(server.polls).toBe(2);
    await settled(store.setSeen(true));
    expect(server.polls).toBe(4);
  });

  test("are asked for again after a failure, from the beginning", async () => {
    const server = new LiveServer();
    server.down = true;
    const { live, tick } = await open(server);
    expect(live.connection.value).toContain("does not answer");
    server.down = false;
    await tick();
    expect(live.connection.value).toBeUndefined();
    expect(live.program.value?.id).toBe("p1");
  });

  test("can be chosen among several", async () => {
    const server = new LiveServer();
    const other = program({ id: programId("p2") }, { phase: "running" });
    server.programs = [program(), other];
    const { live } = await open(server);
    expect(live.program.value?.id).toBe("p1");
    live.chooseProgram(other.id);
    expect(live.program.value?.id).toBe("p2");
  });

  test("one that leaves has ended, until the reader closes it or another one comes", async () => {
    const { live, change } = await open();
    await change();
    expect(live.program.value?.state?.phase).toBe("ended");
    live.closeEnded();
    expect(live.program.value).toBeUndefined();
    await change(program({ id: programId("p3") }));
    await change();
    expect(live.program.value?.state?.phase).toBe("ended");
    await change(program({ id: programId("p2") }));
    expect(live.program.value?.id).toBe("p2");
  });
});

test("a program that the server lists as ended is shown as ended, until the reader closes it", async () => {
  const { live, change } = await open();
  await change(program({}, { version: 2, phase: "ended" }));
  expect(live.program.value?.state?.phase).toBe("ended");
  live.closeEnded();
  expect(live.program.value).toBeUndefined();
  await change();
  expect(live.program.value).toBeUndefined();
});

describe("commands", () => {
  it("are posted with the key and with the pause that they are about", async ({ live, server }) => {
    expect(await live.step()).toBe(true);
    await live.continueUntil({ calls: 5 });
    await live.pauseNow();
    expect(server.posted.map(({ url, body }) => [url, body])).toEqual([
      ["live/control", { program: "p1", command: { step: {}, pause_number: 1 } }],
      ["live/control", { program: "p1", command: { continue_: { calls: 5 }, pause_number: 1 } }],
      ["live/control", { program: "p1", command: { pause: {}, pause_number: 0 } }],
    ]);
    expect(server.posted[0]?.headers).toMatchObject({
      "Content-Type": "application/json",
      "X-TB-Debugger-Key": "the-key",
    });
  });

  test("show the state of their answer at once, and an older answer does not undo it", async () => {
    const { live, server, change } = await open();
    const running = state({ version: 9, phase: "running" });
    server.outcome = () => ({ done: true, sentence: "", breakpoint: 0, state: running });
    await live.step();
    expect(live.state.value?.phase).toBe("running");
    await change(program({}, { version: 8 }));
    expect(live.state.value?.phase).toBe("running");
  });

  it("about a pause are sent once while the first waits for its answer", async ({ live, server }) => {
    const sent = await Promise.all([live.step(), live.step(), live.pauseNow()]);
    expect(sent).toEqual([true, false, true]);
    expect(server.posted).toHaveLength(2);
  });

  it("that let the program go on follow those before them", async ({ live, server }) => {
    expect(await Promise.all([live.toggle(atLine("/a.py", 3)), live.continueUntil(), live.step()])).toEqual([
      true,
      true,
      false,
    ]);
    expect(server.posted.map(({ body }) => Object.keys(body.command as object)[0])).toEqual([
      "set_breakpoint",
      "continue_",
    ]);
  });

  it("that are refused say why, until the next one", async ({ live, server, timer }) => {
    server.outcome = () => ({ done: false, sentence: "“foo” is no number.", breakpoint: 0, state: null });
    expect(await live.step()).toBe(false);
    expect(live.refusal.value).toBe("“foo” is no number.");
    expect(live.toasts.value.map(({ kind }) => kind)).toEqual(["failure"]);
    timer.fire();
    expect(live.toasts.value).toEqual([]);
    server.outcome = () => ({ done: true, sentence: "", breakpoint: 0, state: null });
    await live.step();
    expect(live.refusal.value).toBeUndefined();
  });

  it("set a breakpoint on a line, and remove it again", async ({ live, server, change }) => {
    await live.toggle(atLine("/a.py", 3));
    await change(program({}, { version: 2, breakpoints: [breakpoint({ path: "/a.py", line: 3 })] }));
    await live.toggle(atLine("/a.py", 3));
    expect(server.posted.map(({ body }) => body.command)).toMatchObject([
      { set_breakpoint: { where: { path: "/a.py", line: 3, op_name: "" }, enabled: true } },
      { remove_breakpoint: 1 },
    ]);
  });
});

describe("a pause", () => {
  it("focuses its op at the newest value, with a toast of its sentence", async ({ store, live, change }) => {
    await change(hitAtLog(2));
    expect(focusText(store)).toContain("step 7 Log:0");
    expect(store.sourceLine.value?.path).toBe("/home/user/losses.py");
    expect(live.toasts.value.map(({ sentence }) => sentence)).toEqual(["NaN in Log:0"]);
  });

  it("needs one question, after which the op and the status are known", async ({ store, server, change }) => {
    const before = server.questions;
    await change(hitAtLog(2));
    expect(server.questions).toBe(before + 1);
    expect(store.known.value?.op).toMatchObject({ graph: "g-loss", opName: "Log" });
    expect(store.opInfo.value).toMatchObject({ kind: "ready", value: { op_name: "Log" } });
    expect(server.routes.filter((route) => route === "graphs/op_info")).toEqual([]);
  });

  it("is looked for again while its rows are not read", async ({ store, server, change, timer }) => {
    server.isComplete = false;
    await change(hitAtLog(2));
    const looks = store.looks.value;
    timer.fire();
    expect(store.looks.value).toBe(looks + 1);
  });

  test("is found by polling when the server cannot say what is on record", async () => {
    const { store, server, change } = await open();
    server.hasPaused = false;
    await change(hitAtLog(2));
    expect(focusText(store)).toContain("step 7 Log:0");
    expect(store.known.value).toBeUndefined();
  });

  it("does not move a reader who went elsewhere, and a new one does", async ({ store, change, tick }) => {
    await change(hitAtLog(2));
    store.focusExecution(executionIndex(3));
    await change({ ...hitAtLog(2), state: { ...hitAtLog(2).state, version: 7 } as never });
    await tick();
    expect(store.execution.value).toBe(3);
    expect(store.subject.value).toBe("execution");
    await change(hitAtLog(8));
    expect(store.subject.value).toBe("op");
  });

  test("does not move a reader who chooses while the answer is on its way", async () => {
    const { store, server, change } = await open();
    const before = server.questions;
    let arrive = () => {};
    server.held = new Promise((resolve) => {
      arrive = resolve;
    });
    const changed = change(hitAtLog(2));
    while (server.questions === before) await new Promise((resolve) => setTimeout(resolve, 1));
    store.focusExecution(executionIndex(3));
    arrive();
    await changed;
    expect([store.execution.value, store.subject.value]).toEqual([3, "execution"]);
  });

  it("of a run that is not listed yet asks for the runs, once", async ({ store, server, change }) => {
    const before = store.looks.value;
    const run = runName("new");
    await change(program({ run }, { version: 2, pause: pause({ number: 2 }) }));
    await change(program({ run }, { version: 3, pause: pause({ number: 3 }) }));
    expect(store.looks.value).toBe(before + 1);
    expect(store.run.value).toBe("digits/first");
    expect(server.polls).toBe(4);
  });

  it("between calls shows the line of the call", async ({ store }) => {
    expect(store.line.value).toEqual({ file: 0, line: 71 });
  });

  test("that the page sees first does not move what a link leads to", async () => {
    const { store, change } = await open(new LiveServer(), { execution: executionIndex(4) });
    expect(store.line.value).toBeUndefined();
    expect(store.execution.value).toBe(4);
    await change(hitAtLog(2));
    expect(store.subject.value).toBe("op");
  });

  it("at an eager op focuses the last execution of its type", async ({ store, change }) => {
    const eager = tensor({ graph_id: graphId(""), op_name: "Sqrt_1", op_type: "Sqrt" });
    await change(program({}, { version: 3, pause: pause({ number: 3, reason: "step", tensor: eager }) }));
    expect(store.execution.value).toBe(78);
  });

  it("ends its toast when the program goes on", async ({ live, change }) => {
    await change(hitAtLog(2));
    const notices = [{ number: 1, sentence: "A value was dropped." }];
    await change(program({}, { version: 3, phase: "running", notices }));
    expect(live.toasts.value.map(({ sentence }) => sentence)).toEqual(["A value was dropped."]);
  });

  it("that a step ordered has no toast", async ({ live, change }) => {
    await change(program({}, { version: 3, pause: pause({ number: 3, reason: "step", sentence: "Mul:0" }) }));
    expect(live.toasts.value).toEqual([]);
  });
});

test("notices that are older than the page are no news, later ones are shown", async () => {
  const server = new LiveServer();
  server.programs = [program({}, { notices: [{ number: 1, sentence: "old" }] })];
  const { live, change } = await open(server);
  expect(live.toasts.value).toEqual([]);
  const notices = [
    { number: 1, sentence: "old" },
    { number: 2, sentence: "A breakpoint was dropped." },
  ];
  await change(program({}, { version: 2, notices }));
  expect(live.toasts.value.map(({ sentence }) => sentence)).toEqual(["A breakpoint was dropped."]);
});
