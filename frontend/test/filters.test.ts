import { describe, expect, test } from "vitest";
import { CRITERIA } from "../src/api/generated/filters";
import { complete, criteriaOf, nearest, thingsOf, wrongWith } from "../src/model/completion";
import {
  COMPARED,
  type Filter,
  NO_FILTER,
  orderParams,
  paramsOf,
  readFilter,
  readOrder,
  readTerm,
  type Sign,
  type Term,
  tokens,
  valueIn,
  withoutTerm,
  withTerm,
  writeFilter,
  writeOrder,
  writeTerm,
} from "../src/model/filters";
import { random } from "./random";

const PIECES = [
  "a",
  "Log",
  " ",
  '"',
  "\\",
  ":",
  "=",
  ">",
  "<=",
  "/",
  "∇",
  "1e4",
  "(",
  ".*",
  "\n",
  "model.py:41",
];

function anyText(next: (below: number) => number): string {
  return Array.from({ length: next(6) }, () => PIECES[next(PIECES.length)] ?? "").join("");
}

function anyTerm(next: (below: number) => number): Term {
  const words = [...CRITERIA.map(({ word }) => word), ...COMPARED];
  const word = words[next(words.length)] ?? "op";
  const signs: readonly Sign[] = [":", "=", "<", "<=", ">", ">="];
  return { word, sign: signs[next(signs.length)] ?? ":", value: anyText(next) };
}

describe("the grammar", () => {
  test("reads what it writes, whatever the value is", () => {
    const next = random(7);
    for (let i = 0; i < 2000; i++) {
      const term = anyTerm(next);
      expect(readTerm(writeTerm(term))).toEqual(term);
      expect(tokens(` ${writeTerm(term)}  x`)).toEqual([writeTerm(term), "x"]);
    }
  });

  test("reads a filter that it wrote, with each word once", () => {
    const next = random(11);
    for (let i = 0; i < 500; i++) {
      const terms = Array.from({ length: next(6) }, () => ({ ...anyTerm(next), value: "a b" }));
      const filter: Filter = terms.reduce(withTerm, NO_FILTER);
      expect(readFilter(writeFilter(filter))).toEqual(filter);
      for (const term of terms) expect(withoutTerm(filter, term).length).toBeLessThan(filter.length);
    }
  });

  test("never fails at a text, and makes known parameters of it", () => {
    const next = random(13);
    const known = new Set<string>([...CRITERIA.map(({ name }) => name), "where"]);
    for (let i = 0; i < 2000; i++) {
      const text = `${anyText(next)} ${anyText(next)}`;
      const params = paramsOf(readFilter(text));
      expect(Object.keys(params).filter((name) => !known.has(name))).toEqual([]);
      for (const list of ["executions", "graph_executions"] as const) {
        complete(text, list);
        wrongWith(text, list);
      }
    }
  });

  test("makes the parameters of the routes", () => {
    const filter = readFilter(
      'op=Log health:nan fn:train max>1e4 max<=2e9 process:"vm (process 7)" nobody:1',
    );
    expect(paramsOf(filter)).toEqual({
      op_type: "^Log$",
      health: "nan",
      function: "train",
      where: "max>1e4,max<=2e9",
      host: "vm (process 7)",
    });
    expect(valueIn(filter, "fn")).toBe("train");
  });

  test("has a word once, and each side of a comparison", () => {
    const filter = readFilter("op:A max>1 op:B max>=2 max<9");
    expect(writeFilter(filter)).toBe("op:B max>=2 max<9");
  });

  test("writes an order with a minus for the largest first", () => {
    expect([readOrder("-max"), readOrder("max")]).toEqual([
      { column: "max", descending: true },
      { column: "max", descending: false },
    ]);
    expect(writeOrder(readOrder("-max"))).toBe("-max");
    expect(orderParams(readOrder("-max"))).toEqual({ sort: "max", descending: "true" });
    expect(orderParams(undefined)).toEqual({});
  });
});

describe("a wrong term", () => {
  test.each([
    ["opp:Log", "There is no filter “opp”: did you mean op?"],
    ["dtyep:float32", "There is no filter “dtyep”: did you mean dtype?"],
    ["xyzzy:1", "There is no filter “xyzzy”."],
    ["Log", "“Log” has no word before it, such as op: or name:."],
    ["health:ill", "health: is bad, good, unmeasured, nan, inf, not “ill”."],
    ["op:(", "“(” is not a regular expression."],
    ["max>high", "max> needs a number such as 1e4, not “high”."],
    ["max:7", "max is a number: write max>7 or max<7"],
    ["op>7", "op is not a number: write op:7"],
    ["call:-1", "call: needs numbers such as 3..9, 3.. or 3, not “-1”."],
    ["call:..", "call: needs numbers such as 3..9, 3.. or 3, not “..”."],
    ["op:", "op: needs a value: the type of the op."],
  ])("%s says what is wrong", (text, sentence) => {
    expect(wrongWith(text, "graph_executions")).toBe(sentence);
  });

  test("is one of another list", () => {
    expect(wrongWith("layer:dense", "executions")).toBe("layer: filters graph executions only.");
    expect(wrongWith("layer:dense", "graph_executions")).toBeUndefined();
  });

  test("is not one that completion offers", () => {
    const values = [{ value: 'a "b" c', count: 2 }];
    for (const list of ["executions", "graph_executions"] as const)
      for (const { word } of criteriaOf(list)) {
        const known = thingsOf(`${word}:`) === undefined ? [] : values;
        for (const { text, isWhole } of complete(`${word}:`, list, known))
          expect([text, isWhole, wrongWith(text, list)]).toEqual([text, true, undefined]);
      }
  });
});

describe("completion", () => {
  const texts = (text: string, values?: Parameters<typeof complete>[2]) =>
    complete(text, "graph_executions", values).map((one) => one.text);

  test("offers all words at first, and then those that begin so", () => {
    expect(texts("").length).toBe(12);
    expect(texts("de")).toEqual(["device:", "name:de", "op:de", "layer:de", "fn:de"]);
    expect(texts("po")).toEqual(["pos_inf>", "positive>", "name:po", "op:po", "layer:po", "fn:po"]);
  });

  test("offers the word that was meant", () => {
    expect(texts("lyaer")[0]).toBe("layer:");
    expect(nearest("maxx", ["min", "max"])).toBe("max");
    expect(nearest("nothing", ["min", "max"])).toBeUndefined();
  });

  test("offers the values that rows have, whole and quoted", () => {
    const values = [
      { value: "Log", count: 3 },
      { value: "LogSoftmax", count: 1 },
      { value: "Mul", count: 9 },
    ];
    expect(thingsOf("op:lo")).toBe("op_types");
    expect(texts("op:lo", values)).toEqual(["op=Log", "op=LogSoftmax"]);
    expect(texts("process:vm", [{ value: "vm (1)", count: 1 }])).toEqual(['process:"vm (1)"']);
    expect(texts("health:")).toEqual([
      "health:bad",
      "health:good",
      "health:unmeasured",
      "health:nan",
      "health:inf",
    ]);
  });
});
