import { expect, test } from "vitest";
import type { Link, Origin } from "../src/api/answers";
import { executionIndex, graphExecutionIndex, graphId } from "../src/base/ids";
import type { Target } from "../src/model/neighbourhood";
import {
  certaintyWords,
  chainKeys,
  chainSteps,
  listedSteps,
  momentWords,
  numCauses,
  originKey,
  originLabel,
  originsOf,
  stepInFocus,
} from "../src/model/origin";

const PLACE = {
  op_type: "Log",
  op_name: "loss/Log",
  output_slot: 0,
  graph_id: graphId("g"),
  source: { path: "/home/user/train.py", line: 68, function: "loss", text: undefined },
  step: 4,
  execution_index: executionIndex(9),
  graph_execution_index: graphExecutionIndex(120),
  kind: "nan",
};

function origin(fields: Partial<Origin> = {}): Origin {
  return {
    ...PLACE,
    kind_is_certain: true,
    category: "origin",
    layer: undefined,
    function: "loss",
    variable: undefined,
    gradient_source: undefined,
    element: undefined,
    count: 1,
    headline: "Log in loss, train.py:68",
    explanation: "",
    phrases: { what: [], why: [], where: [] },
    evidence: { output: undefined, inputs: [] },
    advice: undefined,
    example: undefined,
    tried: undefined,
    outcome: undefined,
    certainty: "proven",
    missing: undefined,
    chain: [],
    ...fields,
  };
}

function link(fields: Partial<Link> = {}): Link {
  return { ...PLACE, graph_name: "step", relation: "input", words: "", skipped: 0, ...fields };
}

const EXPECTED = origin({ category: "expected", op_name: "mask", kind: "inf" });
const SECOND = origin({ op_name: "other" });

test("the first origin that matters is shown, and those that are expected are apart", () => {
  const [first, ...rest] = [origin(), SECOND, EXPECTED];
  const { shown, others, expected } = originsOf([EXPECTED, first as Origin, ...rest.slice(0, 1)], undefined);
  expect([shown, others, expected]).toEqual([first, [SECOND], [EXPECTED]]);
});

test("a run whose bad values are all expected has no origin to show, unless the reader chooses one", () => {
  expect(originsOf([EXPECTED], undefined).shown).toBeUndefined();
  expect(originsOf([EXPECTED], originKey(EXPECTED))).toEqual({ shown: EXPECTED, others: [], expected: [] });
});

test("what was swallowed is shown where nothing reaches a result, and among the others where something does", () => {
  const swallowed = origin({ category: "swallowed", op_name: "cast" });
  expect(originsOf([swallowed, EXPECTED], undefined).shown).toBe(swallowed);
  expect(originsOf([origin(), swallowed], undefined).others).toEqual([swallowed]);
});

test("the chosen origin stays chosen in a later answer with other counts", () => {
  const later = [origin({ count: 8 }), origin({ op_name: "other", count: 3 })];
  expect(originsOf(later, originKey(SECOND)).shown).toBe(later[1]);
});

test("an op that makes NaN and infinities is one cause", () => {
  const nan = origin({ kind: "nan" });
  const inf = origin({ kind: "inf", category: "swallowed" });
  expect(numCauses(originsOf([nan, inf, EXPECTED], undefined))).toBe(1);
  expect(numCauses(originsOf([nan, inf, EXPECTED], originKey(EXPECTED)))).toBe(1);
  expect(numCauses(originsOf([nan, origin({ op_name: "other" })], undefined))).toBe(2);
  expect(numCauses(originsOf([EXPECTED], undefined))).toBe(0);
});

test.each([
  [origin(), "Origin of NaN:"],
  [origin({ kind: "inf" }), "Origin of ∞:"],
  [origin({ kind_is_certain: false }), "Origin of NaN or ∞:"],
  [origin({ category: "came_in" }), "Came in: NaN."],
  [origin({ category: "propagated" }), "Bad before the record begins: NaN."],
  [origin({ category: "swallowed" }), "Swallowed: NaN."],
])("the label says category and kind", (one, words) => {
  expect(originLabel(one)).toBe(words);
});

test("doubt is named, certainty is not", () => {
  expect(certaintyWords({ certainty: "proven" })).toBeUndefined();
  expect(certaintyWords({ certainty: "likely" })).toContain("not proven");
});

test("the moment and the count are named where there are any", () => {
  expect(momentWords({ step: 4, count: 12 })).toBe("first in step 4, 12 times in all");
  expect(momentWords({ step: undefined, count: 1 })).toBeUndefined();
});

test("the steps of a chain lead to ops and executions, and end at the birth", () => {
  const eager = { op_name: undefined, graph_id: undefined, graph_execution_index: undefined };
  const steps = chainSteps([link({ ...eager, op_type: "Mul" }), link({ relation: "result", skipped: 3 })]);
  expect(steps.map(({ title, relation, place, isBirth }) => [title, relation, place, isBirth])).toEqual([
    ["Mul", "seen here", "train.py:68, step 4", false],
    ["loss/Log:0", "from inside the call", "train.py:68, step 4", true],
  ]);
  expect(steps.map(({ target }) => target.kind)).toEqual(["execution", "op"]);
  expect([...chainKeys(steps)]).toEqual(["execution 9", "op g loss/Log"]);
});

test("a relation that this page does not know is shown by its name", () => {
  expect(chainSteps([link(), link({ relation: "teleport" })])[1]?.relation).toBe("teleport");
});

test("of a long chain both ends are listed, and all of it on demand", () => {
  const steps = chainSteps(Array.from({ length: 30 }, () => link()));
  const { begin, hidden, end } = listedSteps(steps, false);
  expect([begin.at(-1)?.position, hidden, end[0]?.position, end.at(-1)?.isBirth]).toEqual([4, 20, 25, true]);
  expect(listedSteps(steps, true).begin).toHaveLength(30);
  expect(listedSteps(steps.slice(0, 11), false).hidden).toBe(0);
});

test("in a loop the step of the same turn is in focus, and else the earliest one of the op", () => {
  const turns = [7, 5, 3].map((turn) => link({ graph_execution_index: graphExecutionIndex(turn) }));
  const steps = chainSteps(turns);
  const at = (graphExecution: number | undefined): Target => ({
    kind: "op",
    graph: graphId("g"),
    opName: "loss/Log",
    graphExecution: graphExecution === undefined ? undefined : graphExecutionIndex(graphExecution),
  });
  expect(stepInFocus(steps, at(5))?.position).toBe(1);
  expect(stepInFocus(steps, at(99))?.position).toBe(2);
  expect(stepInFocus(steps, { kind: "execution", index: executionIndex(9) })).toBeUndefined();
  expect(stepInFocus(steps, { kind: "nowhere" })).toBeUndefined();
});
