import { expect, test } from "vitest";
import { rowOfKey } from "../src/model/keys";

const AT = { from: 50, page: 10, last: 99 } as const;

test.each([
  ["down", "ArrowUp", 49],
  ["down", "ArrowDown", 51],
  ["down", "ArrowLeft", undefined],
  ["across", "ArrowLeft", 49],
  ["across", "ArrowRight", 51],
  ["across", "ArrowDown", undefined],
  ["both", "ArrowUp", 49],
  ["both", "ArrowRight", 51],
  ["down", "PageUp", 40],
  ["across", "PageDown", 60],
  ["both", "Home", 0],
  ["both", "End", 99],
  ["both", "a", undefined],
] as const)("in a list that goes %s, the key %s leads from row 50 to %s", (arrows, key, row) => {
  expect(rowOfKey(key, { ...AT, arrows })).toBe(row);
});
