/** The columns that the front end reads are those that docs/http-api.md has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Column, ColumnPage } from "../src/api/columns";
import { LIST_COLUMNS } from "../src/model/list_columns";
import { executionRow, graphExecutionRow } from "../src/model/rows";
import { EXECUTION_COLUMNS, GRAPH_EXECUTION_COLUMNS } from "./fixture/columns";

const API = readFileSync(join(import.meta.dirname, "..", "..", "docs", "http-api.md"), "utf8");

/** The columns of a route, from the tables in its section. */
function documented(route: string): readonly string[] {
  const section = API.split(/^### /m).find((text) => text.startsWith(`${route}\n`)) ?? "";
  const tables = [...section.matchAll(/^\| column \|.*\n((?:\|.*\n)+)/gm)].map(([, rows]) => rows ?? "");
  const cells = tables.flatMap((rows) => rows.split("\n").map((line) => line.split("|")[1] ?? ""));
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? ""));
}

/** Keeps the names of the columns that are read from it, and has none of them. */
class ReadNames extends Map<string, Column> {
  readonly names = new Set<string>();
  override get(name: string): undefined {
    this.names.add(name);
  }
}

function columnsRead(row: (page: ColumnPage, row: number) => unknown): readonly string[] {
  const columns = new ReadNames();
  row({ generation: 1, begin: 0, end: 1, total: 1, columns, dictionaries: new Map() }, 0);
  return [...columns.names];
}

const ROUTES = [
  { route: "columns/executions", row: executionRow, fixture: EXECUTION_COLUMNS, some: "call_health" },
  {
    route: "columns/graph_executions",
    row: graphExecutionRow,
    fixture: GRAPH_EXECUTION_COLUMNS,
    some: "variance",
  },
] as const;

describe.each(ROUTES)("the columns of $route", ({ route, row, fixture, some }) => {
  test("that rows read are documented", () => {
    expect(documented(route)).toEqual(expect.arrayContaining([...columnsRead(row)]));
    expect(columnsRead(row)).toContain(some);
  });

  test("that the fixture has are documented", () => {
    expect(documented(route)).toEqual(expect.arrayContaining(Object.keys(fixture)));
  });
});

describe.each(["executions", "graph_executions"] as const)("the table of %s", (list) => {
  test("has columns that the routes give and sort by", () => {
    const given = LIST_COLUMNS[list].flatMap(({ exported, more }) => [...exported, ...(more ? [more] : [])]);
    expect(documented(`columns/${list}`)).toEqual(expect.arrayContaining(given));
    const [, sorted = ""] = /These parameters sort the rows([\s\S]*?)\n## /.exec(API) ?? [];
    const names = [
      ...sorted.matchAll(/`(\w+)`/g),
      ...(/`where` has([\s\S]*?)fulfils/.exec(API)?.[1] ?? "").matchAll(/`(\w+)`/g),
    ];
    const sorts = LIST_COLUMNS[list].flatMap(({ sort }) => sort ?? []);
    expect(names.map(([, name]) => name)).toEqual(expect.arrayContaining(sorts));
  });
});
