import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { parseSync } from "vite";
import { describe, expect, test } from "vitest";

const FRONTEND = join(import.meta.dirname, "..");
const SRC = join(FRONTEND, "src");
/** The rooms, each of which imports from itself and the ones before it: the row of docs/architecture.md. */
const ROOMS: readonly string[] =
  /`(base(?: <- \w+)+)`/
    .exec(readFileSync(join(SRC, "..", "..", "docs", "architecture.md"), "utf8"))?.[1]
    ?.split(" <- ") ?? [];
/** The npm packages that a room may import; the others may import none. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  store: ["@preact/signals"],
  views: [
    "preact",
    "preact/hooks",
    "@codemirror/*",
    "@lezer/*",
    "@tanstack/*",
    "@dagrejs/dagre",
    "uplot",
    "uplot/*",
  ],
};
/**
 * Only these files may import large packages, and they may be imported only by `import()`, because they are
 * most of the page's size.
 */
const LARGE: readonly (readonly [file: string, packages: RegExp])[] = [
  ["views/source/source_editor", /codemirror|lezer/],
  ["views/chart/plotter", /^uplot/],
  ["views/graph/layered", /^@dagrejs/],
];
const MOST_LINES = 40;

interface Import {
  readonly file: string;
  readonly room: string;
  readonly target: string;
  readonly lazy: boolean;
}

/** The TypeScript files below a folder. */
function sources(folder: string = SRC): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
}

function imports(): readonly Import[] {
  return sources().flatMap((file) => {
    const text = readFileSync(join(SRC, file), "utf8");
    const found = [...text.matchAll(/(?:from|import)\s+"([^"]+)"|import\("([^"]+)"\)/g)];
    return found.map(([, eager, lazy]) => {
      const target = eager ?? lazy ?? "";
      const inside = target.startsWith(".") ? relative(SRC, join(SRC, dirname(file), target)) : target;
      return {
        file,
        room: roomOf(file) ?? "main",
        target: normalize(inside),
        lazy: lazy !== undefined,
      };
    });
  });
}

/** The first folder of a path below src. */
function roomOf(path: string): string | undefined {
  return path.includes("/") ? path.split("/")[0] : undefined;
}

/** The functions of a file that have too many lines, as "file:line". */
function longFunctions(folder: string, file: string): readonly string[] {
  const text = readFileSync(join(folder, file), "utf8");
  const lineOf = (at: number) => text.slice(0, at).split("\n").length;
  return functionsIn(parseSync(file, text).program)
    .map(({ start, end }) => ({ first: lineOf(start), last: lineOf(end) }))
    .filter(({ first, last }) => last - first >= MOST_LINES)
    .map(({ first }) => `${file}:${first}`);
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** The functions in a syntax tree, with those inside of others, without the groups of tests. */
function functionsIn(node: unknown): readonly Range[] {
  if (typeof node !== "object" || node === null) return [];
  const inside = Object.values(node).flatMap(functionsIn);
  if (isGroup(node)) return inside.filter((found) => !node.arguments.includes(found));
  const isFunction = "type" in node && /Function/.test(String(node.type)) && "body" in node;
  return isFunction ? [node as unknown as Range, ...inside] : inside;
}

/** Whether a node is `describe(…)` or `describe.each(…)(…)`. */
function isGroup(node: object): node is { arguments: readonly unknown[] } {
  let callee: unknown = node;
  while (typeof callee === "object" && callee !== null && ("callee" in callee || "object" in callee))
    callee = "callee" in callee ? callee.callee : callee.object;
  return "arguments" in node && callee instanceof Object && "name" in callee && callee.name === "describe";
}

const isPackage = (target: string) => !ROOMS.some((room) => target.startsWith(`${room}/`));

describe("the rooms of the front end", () => {
  test("are all there, and every file is in one of them or is main", () => {
    const seen = new Set(imports().map(({ room }) => room));
    expect([...seen].sort()).toEqual([...ROOMS, "main"].sort().filter((room) => seen.has(room)));
    expect(ROOMS).toHaveLength(5);
    expect(imports().length).toBeGreaterThan(100);
  });

  test.each(ROOMS)("%s imports only from earlier rooms", (room) => {
    const rooms = ROOMS.slice(0, ROOMS.indexOf(room) + 1);
    const wrong = imports().filter(
      (i) => i.room === room && !isPackage(i.target) && !rooms.includes(roomOf(i.target) ?? ""),
    );
    expect(wrong).toEqual([]);
  });

  test.each(ROOMS)("%s uses only its own packages", (room) => {
    const packages = PACKAGES[room] ?? [];
    const allowed = (name: string) =>
      packages.some((known) => (known.endsWith("*") ? name.startsWith(known.slice(0, -1)) : name === known));
    const wrong = imports().filter((i) => i.room === room && isPackage(i.target) && !allowed(i.target));
    expect(wrong).toEqual([]);
  });

  test.each(LARGE)("%s is fetched only when it is shown", (large, packages) => {
    const users = imports().filter(({ target }) => packages.test(target));
    expect(users.length).toBeGreaterThan(0);
    expect(users.every(({ file }) => file === `${large}.ts`)).toBe(true);
    const importing = imports().filter(({ target }) => target === large);
    expect(importing.filter(({ lazy }) => lazy)).toHaveLength(1);
    const name = large.split("/").at(-1);
    const isOfTypes = (file: string) =>
      new RegExp(`import type \\{[^}]*\\} from "\\./${name}"`).test(readFileSync(join(SRC, file), "utf8"));
    expect(importing.filter(({ lazy, file }) => !lazy && !isOfTypes(file))).toEqual([]);
  });

  test("the lists and their package are fetched beside the first answers", () => {
    const inLists = (name: string) => name.startsWith("views/lists/");
    const users = imports().filter(({ file, target }) => inLists(target) && !inLists(file));
    expect(users.map(({ file, lazy }) => [file, lazy])).toEqual([
      ["views/list_section.tsx", false],
      ["views/list_section.tsx", true],
    ]);
    expect(readFileSync(join(SRC, "views/list_section.tsx"), "utf8")).toContain("import type { ListView }");
    const packaged = imports().filter(({ target }) => target.startsWith("@tanstack/"));
    expect(packaged.every(({ file }) => inLists(file))).toBe(true);
  });

  test("nothing is put into the page as HTML", () => {
    const wrong = sources().filter((file) =>
      /innerHTML|dangerouslySet|insertAdjacentHTML/.test(readFileSync(join(SRC, file), "utf8")),
    );
    expect(wrong).toEqual([]);
  });
});

/** Lists of parts of the store that a view takes. */
const LISTS = /\btype Uses = [^;]*;|\b(?:With|Of)<[^,{}>]*/g;

function listsIn(text: string): string {
  return [...text.matchAll(LISTS)].join(" ");
}

/** The slices of the store, each with those that it may know: the table of README.md. */
const SLICES = new Map(
  [...readFileSync(join(FRONTEND, "README.md"), "utf8").matchAll(/^\| `(\w+)` \| [^|]+ \|([^|]*)\|$/gm)].map(
    ([, slice = "", known = ""]) => [slice, [...known.matchAll(/\w+/g)].map(String).sort()],
  ),
);

describe("the slices of the store", () => {
  const sliceOf = (path: string) => /^store\/(\w+)\//.exec(path)?.[1];

  test("are all in the table, and have few files", () => {
    const files = sources().map((file) => sliceOf(file));
    expect([...new Set(files)].filter((name) => name !== undefined).sort()).toEqual(
      [...SLICES.keys(), "common"].sort(),
    );
    for (const slice of SLICES.keys())
      expect(files.filter((name) => name === slice).length).toBeLessThan(slice === "live" ? 7 : 4);
  });

  test.each([...SLICES, ["common", []] as const])("%s knows those of the table", (slice, known) => {
    const targets = imports().filter(({ file, room }) => room === "store" && sliceOf(file) === slice);
    const found = new Set(targets.map(({ target }) => (target === "store/store" ? target : sliceOf(target))));
    for (const name of [undefined, slice, "common"]) found.delete(name);
    expect([...found].sort()).toEqual(known);
  });

  test("know no slice that knows them", () => {
    const names = [...SLICES.keys()];
    for (const [slice, known] of SLICES)
      expect(known.filter((name) => names.indexOf(name) > names.indexOf(slice))).toEqual([]);
  });
});

describe("the views", () => {
  const views = sources().filter((file) => file.startsWith("views/"));
  const textOf = (file: string) => readFileSync(join(SRC, file), "utf8");

  test("take parts of the store, but for those that tie the others together", () => {
    const takesAll = /import type \{ Store }|(?::|extends|<) ?With(?![<\w])|<keyof Store/;
    const whole = views.filter((file) => takesAll.test(textOf(file)));
    expect(whole.sort()).toEqual([
      "views/app.tsx",
      "views/dock.tsx",
      "views/live/panels.tsx",
      "views/props.ts",
    ]);
  });

  test.each(views.map((file) => [file, listsIn(textOf(file))] as const).filter(([, lists]) => lists !== ""))(
    "%s uses each part of the store that it takes",
    (file, lists) => {
      const rest = textOf(file).replaceAll(LISTS, "");
      const names = new Set(
        [...lists.matchAll(/"(\w+)(?:\.(\w+))?"/g)].map(([, slice, name]) => name ?? slice),
      );
      expect([...names].filter((name) => !new RegExp(`\\b${name}\\b`).test(rest))).toEqual([]);
    },
  );
});

test.each(["src", "test"])(`no function in %s is longer than ${MOST_LINES} lines`, (name) => {
  const folder = join(FRONTEND, name);
  expect(sources(folder).flatMap((file) => longFunctions(folder, file))).toEqual([]);
});
