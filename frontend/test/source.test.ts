import { expect, test } from "vitest";
import { positionOfLine, shownLines } from "../src/model/source";

const EXCERPTS = [
  { first_line: 3, lines: ["three", "four"] },
  { first_line: 6, lines: ["six"] },
  { first_line: 90, lines: ["ninety"] },
];

test("a whole file is shown as it is", () => {
  const shown = shownLines(["a", "b"], []);
  expect(shown).toEqual([
    { number: 1, text: "a" },
    { number: 2, text: "b" },
  ]);
});

test("excerpts keep the numbers of their lines, and gaps are named", () => {
  const shown = shownLines([], EXCERPTS);
  expect(shown.map(({ number }) => number)).toEqual([undefined, 3, 4, undefined, 6, undefined, 90]);
  expect(shown[0]?.text).toBe("# … lines 1 to 2 not recorded");
  expect(shown[3]?.text).toBe("# … line 5 not recorded");
  expect(shown[5]?.text).toBe("# … lines 7 to 89 not recorded");
});

test("an excerpt from the first line on has no gap before it", () => {
  expect(shownLines([], [{ first_line: 1, lines: ["one"] }])).toEqual([{ number: 1, text: "one" }]);
});

test("a line is found by its number in the file", () => {
  const shown = shownLines([], EXCERPTS);
  expect(positionOfLine(shown, 6)).toBe(5);
  expect(positionOfLine(shown, 50)).toBeUndefined();
});
