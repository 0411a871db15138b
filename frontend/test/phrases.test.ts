import { Fragment, type VNode } from "preact";
import { describe, expect, test } from "vitest";
import { explained as check } from "../src/api/answers";
import type { Target } from "../src/model/neighbourhood";
import { phrasesOf, proseOf } from "../src/model/phrases";
import { firstCauseLabel } from "../src/model/verdict";
import { PhraseWords } from "../src/views/numbers";
import { Button } from "../src/views/panel";
import { phrasesText } from "./focus_text";

const NOWHERE = { graph_id: null, op_name: null, graph_execution_index: null, execution_index: null };
const LOG = { ...NOWHERE, graph_id: "g", op_name: "Log", graph_execution_index: 7 };

/** A checked diagnosis with these phrases as its place. */
function answer(where: readonly object[], more: object = {}) {
  const sentences = {
    what: [{ role: "text", text: "It." }],
    why: [],
    where,
    help: null,
    tried: undefined,
    certainty: "likely",
  };
  const json = { diagnosis: { index: null, alert: null, headline: "Log", ...sentences, ...more } };
  const { diagnosis } = check(json, "diagnosis");
  if (diagnosis === undefined) throw new Error("The answer has a diagnosis.");
  return diagnosis;
}

const PHRASES = [
  { role: "text", text: "Part of " },
  { role: "code", text: "Log:0" },
  { role: "number", text: "200 −∞" },
  { role: "link", text: "train.py:3", target: LOG },
  { role: "link", text: "#4", target: { ...NOWHERE, execution_index: 4 } },
];

describe("the sentences of the server", () => {
  test("read as one text", () => {
    expect(phrasesText(answer(PHRASES).where)).toBe("Part of Log:0200 −∞train.py:3#4");
  });

  test("lead to a graph op, with its graph execution where there is one, and to executions", () => {
    const links = phrasesOf(answer(PHRASES).where).flatMap((phrase) =>
      phrase.kind === "link" ? [phrase.target] : [],
    );
    expect(links).toEqual([
      { kind: "op", graph: "g", opName: "Log", graphExecution: 7 },
      { kind: "execution", index: 4 },
    ]);
    const [unrecorded] = phrasesOf(
      answer([{ role: "link", text: "x", target: { ...LOG, graph_execution_index: null } }]).where,
    );
    expect(unrecorded).toMatchObject({ target: { kind: "op", opName: "Log", graphExecution: undefined } });
  });

  test("become elements: text, code, numbers in red, and buttons that follow their targets", () => {
    const followed: Target[] = [];
    const elements = phrasesOf(answer(PHRASES).where).map(
      (phrase) => PhraseWords({ phrase, follow: (target) => followed.push(target) }) as VNode<ElementProps>,
    );
    expect(elements.map(({ type, props }) => [type, props.class])).toEqual([
      [Fragment, undefined],
      ["code", undefined],
      ["b", "bad"],
      [Button, undefined],
      [Button, undefined],
    ]);
    expect(elements.map(({ props }) => props.text ?? props.children)).toEqual(
      PHRASES.map(({ text }) => text),
    );
    elements[3]?.props.act?.();
    expect(followed).toEqual([{ kind: "op", graph: "g", opName: "Log", graphExecution: 7 }]);
  });

  test("are text where a role is not known or a link leads nowhere", () => {
    const odd = [
      { role: "footnote", text: "a", later: true },
      { role: "link", text: "b", target: NOWHERE },
      { role: "link", text: "c" },
      { role: "link", text: "d", target: { ...NOWHERE, op_name: "Log" } },
    ];
    expect(phrasesOf(answer(odd).where)).toEqual(odd.map(({ text }) => ({ kind: "text", text })));
  });

  test("need not be there: a run without an alert has no diagnosis", () => {
    expect(check({ diagnosis: null }, "diagnosis").diagnosis).toBeUndefined();
  });
});

interface ElementProps {
  readonly class?: string;
  readonly children?: unknown;
  readonly text?: unknown;
  readonly act?: () => void;
}

test("the first cause is called the first bad value only where it is both", () => {
  const of = { wall_time: 1, gradient_of: [], process: "host", step: 0 };
  const alert = { ...of, alert_type: "A", measured: "1 NaN", op_type: "Log", output_slot: 0 };
  const label = (index: number, bad: boolean | null) =>
    firstCauseLabel(answer([], { index, alert: { ...alert, bad } }));
  expect([label(0, true), label(0, null), label(2, true), label(0, false)]).toEqual([
    "First bad value: ",
    "First bad value: ",
    "First cause: ",
    "First cause: ",
  ]);
});

describe("plain sentences", () => {
  test("have code where backticks are", () => {
    expect(proseOf("Give `clipnorm=1.0`, or less.")).toEqual([
      { kind: "text", text: "Give " },
      { kind: "code", text: "clipnorm=1.0" },
      { kind: "text", text: ", or less." },
    ]);
    expect(proseOf("No code.")).toEqual([{ kind: "text", text: "No code." }]);
    expect(proseOf("")).toEqual([]);
  });
});
