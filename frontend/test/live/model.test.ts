import { describe, expect, test } from "vitest";
import { breakpointNumber, graphId, programId, runName } from "../../src/base/ids";
import { conditionOf, conditionWords, isNumber, PRESETS, presetOf } from "../../src/model/live/conditions";
import { hitOf } from "../../src/model/live/hit";
import {
  atLine,
  atOp,
  atTensor,
  breakpointAt,
  breakpointsOfFile,
  breakpointWords,
  changed,
  isSamePlace,
  lineMarks,
  newBreakpoint,
  place,
  placeWords,
} from "../../src/model/live/places";
import {
  ended,
  firstProgram,
  headline,
  merged,
  pauseNotes,
  pauseWords,
  refusals,
  threadRows,
} from "../../src/model/live/program";
import { breakpoint, call, pause, program, state, tensor } from "./fixture";

describe("conditions", () => {
  test("the presets are the thirteen of TensorBoard's first debugger, as texts of the program", () => {
    expect(PRESETS.map((preset) => conditionOf(preset, " 10 "))).toEqual([
      "bad > 0",
      "inf > 0",
      "nan > 0",
      "max > 10",
      "max < 10",
      "min > 10",
      "min < 10",
      "max - min > 10",
      "max - min < 10",
      "mean > 10",
      "mean < 10",
      "std > 10",
      "std < 10",
    ]);
  });

  test("a text that a preset made leads back to it, with its value", () => {
    for (const preset of PRESETS) {
      const found = presetOf(conditionOf(preset, "-1e3"));
      expect(found).toEqual({ preset, value: preset.hasValue ? "-1e3" : "" });
    }
    expect(presetOf("max  -  min >  2")?.value).toBe("2");
  });

  test("a free text stays as it is, also when it begins like a preset", () => {
    for (const text of ["mean > 3 or inf > 0", "max > min + 1", "nan > 1", "zero == size"]) {
      expect(presetOf(text)).toBeUndefined();
      expect(conditionWords(text)).toBe(text);
    }
    expect(conditionWords("nan > 0")).toBe("contains NaN");
    expect(conditionWords("max - min > 10")).toBe("max − min > 10");
  });

  test("reference values are numbers in Python's notation", () => {
    for (const text of ["0", "-1.5", "+.5", "3.", "1e-3", " 7 "]) expect(isNumber(text)).toBe(true);
    for (const text of ["", "x", "1,5", "0x10", "1e", "nan", "1 2"]) expect(isNumber(text)).toBe(false);
  });
});

describe("places", () => {
  test("are said in words", () => {
    expect(placeWords(atOp("Log", "__inference_loss_7", 0))).toBe("Log:0 in loss");
    expect(placeWords(atOp("Log", undefined))).toBe("Log");
    expect(placeWords(place({ op_type: "MatMul", layer_regex: "dense" }))).toBe(
      "ops of type MatMul in layer dense",
    );
    expect(placeWords(atLine("/home/me/train.py", 68))).toBe("train.py:68");
    expect(placeWords(place({ calls: true, function_regex: "train_step" }))).toBe("calls of train_step");
    expect(placeWords(place({ calls: true }))).toBe("calls");
    expect(placeWords(place({}))).toBe("any tensor");
    expect(breakpointWords(newBreakpoint({ op_name: "Log" }, "nan > 0"))).toBe("Log if it contains NaN");
    expect(breakpointWords({ ...newBreakpoint({}), label: "mine" })).toBe("mine");
    const logs = newBreakpoint({ op_name: "Log" }, "nan > 0", true, true);
    expect(breakpointWords(logs)).toBe("log Log if it contains NaN");
  });

  test("of NaN and infinities is at the first of each origin only, unless the reader chooses otherwise", () => {
    const firsts = ["nan > 0", "bad > 0", "inf > 0", "max > 3", ""].map(
      (one) => newBreakpoint({}, one).first_only,
    );
    expect(firsts).toEqual([true, true, true, false, false]);
    expect(newBreakpoint({}, "nan > 0", false).first_only).toBe(false);
  });

  test("an op is sought in its function, by the name for people where that occurs in the full one", () => {
    expect(atOp("Log", "__inference_loss_7").function_regex).toBe("loss");
    const gradient = "__inference___backward_loss_7";
    expect(atOp("Log", gradient).function_regex).toBe(gradient);
    expect(atOp("Log", undefined).function_regex).toBe("");
    expect(atOp("Log", "a.b").function_regex).toBe("a\\.b");
  });

  test("an eager op has only its type", () => {
    expect(atTensor(tensor())).toEqual(atOp("Log", "loss_1", 0).slot === 0 && atOp("Log", "loss", 0));
    const eager = tensor({ graph_id: graphId(""), op_name: "MatMul_3", op_type: "MatMul" });
    expect(isSamePlace(atTensor(eager), place({ op_type: "MatMul" }))).toBe(true);
  });

  test("the breakpoints of a file are found by line, those that are on first", () => {
    const all = [
      breakpoint({ path: "a.py", line: 3 }),
      breakpoint({ path: "a.py", line: 3 }, { number: 2, enabled: false }),
      breakpoint({ path: "b.py", line: 3 }, { number: 3 }),
      breakpoint({ op_name: "Log" }, { number: 4 }),
    ];
    expect([...breakpointsOfFile(all, "a.py")].map(([line, { number }]) => [line, number])).toEqual([[3, 1]]);
    expect(breakpointAt(all, atOp("Log", "loss", 0))?.number).toBe(4);
    expect(breakpointAt(all, atOp("Exp", "loss"))).toBeUndefined();
    expect(breakpointAt(all, atLine("a.py", 3))?.number).toBe(1);
    expect(breakpointAt(all, place({ op_type: "Log" }))).toBeUndefined();
    const inOther = [breakpoint({ op_name: "Log", function_regex: "model" })];
    expect(breakpointAt(inOther, atOp("Log", "__inference_loss_7"))).toBeUndefined();
  });

  test("lines are marked by their breakpoint, or by what they made", () => {
    const made = (line: number, num_ops: number, executions = 0) => ({
      ...{ line, num_ops, executions, num_tensors: 0, num_bad: 0, bad_executions: 0, health: undefined },
      ops: Array.from({ length: num_ops }, (_, i) => ({
        ...{ graph_id: graphId("g"), graph_name: "g", op_name: `scope/Add_${i}`, op_type: "Add" },
        ...{ num_tensors: 0, num_bad: 0, health: undefined },
      })),
    });
    const all = [
      breakpoint({ path: "a.py", line: 2 }, { enabled: false, condition: "nan > 0" }),
      breakpoint({ path: "a.py", line: 4 }, { problem: "Nothing is made there." }),
    ];
    const marks = lineMarks(all, "a.py", [made(1, 1), made(2, 9), made(3, 0, 2)]);
    expect([...marks].sort(([a], [b]) => a - b)).toEqual([
      [1, { kind: "possible", title: "1 op: Add_0" }],
      [
        2,
        {
          kind: "off",
          title: "a.py:2 if it contains NaN · 9 ops: Add_0, Add_1, Add_2, Add_3, Add_4, Add_5, …",
        },
      ],
      [3, { kind: "possible", title: "ran 2 ops and functions from Python" }],
      [4, { kind: "problem", title: "a.py:4 · Nothing is made there." }],
    ]);
  });

  test("a change keeps the rest of a breakpoint, and sends no counts", () => {
    const before = breakpoint({ op_name: "Log" }, { hits: 9, condition: "nan > 0" });
    const { where } = before;
    expect(changed(before, { enabled: false })).toEqual({
      ...{ number: breakpointNumber(1), where, condition: "nan > 0" },
      ...{ ignore: 0, enabled: false, label: "", first_only: false, log_only: false },
    });
  });
});

describe("the headline", () => {
  const cases: readonly (readonly [string, Parameters<typeof state>[0]])[] = [
    ["Waiting for you before the first call", { phase: "waiting", call: undefined }],
    ["Waiting for you before the first op", { phase: "waiting", call: undefined, pause: pause({}) }],
    ["Waiting for you before train_step (call 0)", { phase: "waiting" }],
    ["Paused before train_step (call 0)", {}],
    ["Paused after train_step (call 0)", { pause: pause({ reason: "after_call" }) }],
    [
      "Paused after train_step (call 0)",
      { call: call({ is_over: true }), pause: pause({ reason: "asked" }) },
    ],
    ["Paused: train_step (call 0) raised an error", { pause: pause({ reason: "error" }) }],
    ["Paused at Log:0 in train_step (call 0)", { pause: pause({ reason: "breakpoint", tensor: tensor() }) }],
    ["Paused before the first op", { call: undefined }],
    ["Paused", { call: undefined, pause: pause({ reason: "asked" }) }],
    [
      "Running train_step (call 3), 1 call left …",
      { phase: "running", call: call({ number: 3 }), calls_left: 1 },
    ],
    ["Running …", { phase: "running", call: undefined }],
    ["Running …", { phase: "running", call: call({ is_over: true }) }],
    [
      "Paused before run of loss:0 (call 2)",
      { call: call({ kind: "session_run", name: "loss:0", number: 2 }) },
    ],
    ["Paused before eager ops (call 2)", { call: call({ kind: "step", name: "", number: 2 }) }],
    ["Detached: the program runs on and does not stop again", { phase: "detached" }],
    ["The program has ended", { phase: "ended" }],
    ["The program does not answer.", { phase: "unknown" }],
  ];
  test.each(cases)("is %s", (expected, now) => {
    expect(headline(program({}, now))).toBe(expected);
  });

  test("of a program that cannot be reached is its problem", () => {
    expect(headline(program({ state: undefined, problem: "Nothing listens." }))).toBe("Nothing listens.");
  });

  test("is followed by what may have run past", () => {
    expect(pauseNotes(pause())).toEqual([]);
    expect(pauseNotes(pause({ held_threads: 1, others_may_have_passed: true }))).toEqual([
      "Ops that run in parallel may have run past this tensor.",
      "1 other thread of the program waits too.",
    ]);
  });
});

describe("actions", () => {
  const open = (now: Parameters<typeof state>[0], readOnly?: string) =>
    Object.entries(refusals(program({}, now), readOnly))
      .filter(([, why]) => why === undefined)
      .map(([action]) => action);
  test.each([
    ["paused", "step stepOver stepOut continue detach stop"],
    ["waiting", "step stepOver stepOut continue detach stop"],
    ["running", "pause detach stop"],
    ["detached", "stop"],
    ["ended", ""],
    ["unknown", ""],
  ] as const)("of a program that is %s are: %s", (phase, expected) => {
    expect(open({ phase }).join(" ")).toBe(expected);
  });

  test("of a read-only program or TensorBoard are none, with the reason", () => {
    expect(open({}, "It is read-only.")).toEqual([]);
    expect(open({ read_only: true })).toEqual([]);
    expect(refusals(program(), "It is read-only.").step).toBe("It is read-only.");
    expect(refusals(program({}, { read_only: true }), undefined).step).toContain("program is read-only");
  });
});

describe("several programs", () => {
  const a = program({ id: programId("a"), started: 1 }, { phase: "running", version: 5 });
  const b = program({ id: programId("b"), started: 2 }, { phase: "running" });

  test("the one that waits for the reader is first, then the one that was started last", () => {
    expect(firstProgram([a, b])?.id).toBe("b");
    expect(firstProgram([{ ...a, state: state() }, b])?.id).toBe("a");
    expect(firstProgram([])).toBeUndefined();
  });

  test("of several programs that wait, the one of the run in focus is shown first", () => {
    const a = program({ id: programId("a"), run: runName("run a"), started: 1 });
    const b = program({ id: programId("b"), run: runName("run b"), started: 2 });
    expect(firstProgram([a, b], runName("run a"))?.id).toBe("a");
    expect(firstProgram([a, b], runName("run c"))?.id).toBe("b");
    const running = { ...a, state: state({ phase: "running" }) };
    expect(firstProgram([running, b], runName("run a"))?.id).toBe("b");
  });

  test("an op that failed is named in the headline, and its reason comes first", () => {
    const failed = tensor({ op_name: "gather", slot: 0 });
    const sentence = "Paused after train_step (call 0): InvalidArgumentError: 5 is not in [0, 2).";
    const over = { call: call({ is_over: true }), pause: pause({ reason: "error", sentence, failed }) };
    expect(headline(program({}, over))).toBe("Paused: gather:0 in train_step (call 0) failed");
    expect(pauseWords(program({}, over))).toBe("InvalidArgumentError: 5 is not in [0, 2).");
    expect(hitOf(program({}, over))).toMatchObject({
      op: { opName: "gather" },
      line: { path: "/home/user/losses.py", line: 14 },
      isBetween: false,
    });
  });

  test("a pause before the first op is about its line", () => {
    const over = { call: undefined, pause: pause({ path: "/home/user/train.py", line: 8 }) };
    expect(hitOf(program({}, over))).toMatchObject({
      op: undefined,
      line: { path: "/home/user/train.py", line: 8 },
      isBetween: true,
    });
  });

  test("an older state of a program does not replace a newer one", () => {
    const older = { ...a, state: state({ version: 4 }) };
    expect(merged([a], [older])[0]?.state?.version).toBe(5);
    expect(merged([a], [{ ...a, state: state({ version: 6 }) }])[0]?.state?.version).toBe(6);
    expect(merged([a], [{ ...a, state: undefined }])[0]?.state).toBeUndefined();
  });

  test("one that left has ended", () => {
    expect(ended(a).state).toMatchObject({ phase: "ended", pause: undefined });
  });
});

describe("a hit", () => {
  test("at a tensor has its run, op and line", () => {
    const hit = hitOf(program({}, { pause: pause({ number: 4, tensor: tensor() }) }));
    expect(hit).toEqual({
      key: "p1 4",
      program: "p1",
      pause: 4,
      run: "digits/first",
      op: { graph: "g-loss", opName: "Log", opType: "Log", slot: 0 },
      line: { path: "/home/user/losses.py", line: 14 },
      isBetween: false,
    });
  });

  test("at a tensor that the program cannot name is at the call", () => {
    const unnamed = { ...tensor(), op_name: "", op_type: "", path: "", line: 0 };
    const paused = program({}, { pause: pause({ reason: "step", tensor: unnamed }) });
    expect(hitOf(paused)).toMatchObject({ op: undefined, line: { line: 71 } });
    expect(headline(paused)).toBe("Paused at a tensor in train_step (call 0)");
  });

  test("between calls has the line of the call", () => {
    const hit = hitOf(program());
    expect(hit?.op).toBeUndefined();
    expect(hit?.line).toEqual({ path: "/home/user/train.py", line: 71 });
  });

  test("is nothing while the program runs, or without a run", () => {
    expect(hitOf(program({}, { phase: "running" }))).toBeUndefined();
    expect(hitOf(program({ run: undefined }))).toBeUndefined();
    expect(hitOf(undefined)).toBeUndefined();
  });
});

describe("threads", () => {
  const of = (number: number, thread: string, over = {}) => call({ number, thread, name: "work", ...over });
  const running = [
    of(3, "worker-0", { is_held: true }),
    of(4, "worker-1", { is_held: true }),
    of(5, "worker-2"),
  ];

  test("the bar names the thread that stopped, and no main thread", () => {
    const at = (thread: string) => headline(program({}, { call: of(3, thread), pause: pause() }));
    expect(at("worker-0")).toMatch(/work \(call 3\) · worker-0$/);
    expect(at("MainThread")).toMatch(/work \(call 3\)$/);
  });

  test("each says whether it is stopped, waits or runs", () => {
    const rows = threadRows(state({ call: running[0], running }));
    expect(rows.map(({ thread, does }) => [thread, does])).toEqual([
      ["worker-0", "stopped here"],
      ["worker-1", "waits"],
      ["worker-2", "runs"],
    ]);
  });

  test("each is where the innermost line of its stack is, and the stopped one at its tensor", () => {
    const stack = [
      { path: "/a.py", line: 5, function: "inner" },
      { path: "/a.py", line: 9, function: "outer" },
    ];
    const [first, second] = [of(3, "worker-0"), of(4, "worker-1", { stack, path: "/a.py", line: 9 })];
    const rows = threadRows(
      state({ call: first, running: [first, second], pause: pause({ tensor: tensor() }) }),
    );
    expect(rows.map(({ at, line, stack: lines }) => [at, line, lines.length])).toEqual([
      ["Log:0", first.line, 0],
      ["", 5, 2],
    ]);
  });

  test("a program with one thread lists none", () => {
    expect(threadRows(state({ running: [of(3, "MainThread")] }))).toEqual([]);
    expect(threadRows(undefined)).toEqual([]);
  });

  test("of threads that cannot be told apart none is the one that stopped", () => {
    const rows = threadRows(state({ call: of(3, "worker-0 or worker-1"), running }));
    expect(rows.map(({ does }) => does)).toEqual(["waits", "waits", "runs"]);
  });
});
