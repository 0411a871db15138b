/** `model/key_table.ts`: the list of keys on the page is that of the documents. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KEY_TABLE } from "../src/model/key_table";

test("all keys of the page are those of docs/guide/keys.md", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/guide/keys.md"), "utf-8");
  const rows = (page.split("## In the shell")[0] ?? "").split("\n").filter((line) => line.startsWith("| "));
  const listed = rows.slice(2).map((line) => line.slice(2, -2).split(" | "));
  expect(listed).toEqual(KEY_TABLE.map((row) => [...row]));
});
