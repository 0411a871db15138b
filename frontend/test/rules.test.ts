import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { describe, expect, test } from "vitest";

/**
 * The rooms and npm packages that each room may import.
 */
const RULES: Readonly<Record<string, { rooms: readonly string[]; packages: readonly string[] }>> = {
  base: { rooms: ["base"], packages: [] },
  api: { rooms: ["api", "base"], packages: [] },
  model: { rooms: ["model", "api", "base"], packages: [] },
  store: { rooms: ["store", "model", "api", "base"], packages: ["@preact/signals"] },
  views: {
    rooms: ["views", "store", "model", "api", "base"],
    packages: ["preact", "preact/hooks", "@codemirror/*", "@lezer/*"],
  },
};
/**
 * Only this file may import the editor, and it may be imported only by `import()`, because it is most of the
 * page's size.
 */
const EDITOR = "views/source_editor";
const SRC = join(import.meta.dirname, "..", "src");

interface Import {
  readonly file: string;
  readonly room: string;
  readonly target: string;
  readonly lazy: boolean;
}

function imports(): readonly Import[] {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  return files.flatMap((file) => {
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

const isPackage = (target: string) => !Object.keys(RULES).some((room) => target.startsWith(`${room}/`));

describe("the rooms of the front end", () => {
  test("are all there, and every file is in one of them or is main", () => {
    const seen = new Set(imports().map(({ room }) => room));
    expect([...seen].sort()).toEqual(
      ["api", "base", "main", "model", "store", "views"].filter((room) => seen.has(room)),
    );
    expect(imports().length).toBeGreaterThan(100);
  });

  test.each(Object.entries(RULES))("%s imports only from earlier rooms", (room, { rooms }) => {
    const wrong = imports().filter(
      (i) => i.room === room && !isPackage(i.target) && !rooms.includes(roomOf(i.target) ?? ""),
    );
    expect(wrong).toEqual([]);
  });

  test.each(Object.entries(RULES))("%s uses only its own packages", (room, { packages }) => {
    const allowed = (name: string) =>
      packages.some((known) => (known.endsWith("*") ? name.startsWith(known.slice(0, -1)) : name === known));
    const wrong = imports().filter((i) => i.room === room && isPackage(i.target) && !allowed(i.target));
    expect(wrong).toEqual([]);
  });

  test("the editor is fetched only when there is source to show", () => {
    const editor = imports().filter(({ target }) => /codemirror|lezer/.test(target));
    expect(editor.every(({ file }) => file === `${EDITOR}.ts`)).toBe(true);
    const users = imports().filter(({ target }) => target === EDITOR);
    expect(users.filter(({ lazy }) => lazy)).toHaveLength(1);
    expect(
      users.filter(
        ({ lazy, file }) =>
          !lazy && !readFileSync(join(SRC, file), "utf8").includes(`import type { SourceEditor }`),
      ),
    ).toEqual([]);
  });

  test("nothing is put into the page as HTML", () => {
    const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.tsx?$/.test(name),
    );
    const wrong = files.filter((file) =>
      /innerHTML|dangerouslySet|insertAdjacentHTML/.test(readFileSync(join(SRC, file), "utf8")),
    );
    expect(wrong).toEqual([]);
  });
});
