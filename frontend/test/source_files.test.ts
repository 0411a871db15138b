/** `model/source_files.ts`: names of files, what their lines made, and what is found in them. */
import { describe, expect, test } from "vitest";
import type { LineOps, SourceFileOps } from "../src/api/answers";
import { fileIndex } from "../src/base/ids";
import {
  cellNames,
  editorLink,
  filesWith,
  firstFrom,
  lineOfFilter,
  madeMarks,
  madeWords,
  occurrences,
  shortestEnd,
  signOf,
  tensorWords,
} from "../src/model/source_files";
import { random } from "./random";

const MADE = { num_ops: 0, num_tensors: 0, num_bad: 0, executions: 0, bad_executions: 0, health: undefined };
const OP = { graph_name: undefined, op_type: "Log", op_name: "Log" };

describe("the end of a path that a filter has", () => {
  test("is its name where no other file has that", () => {
    const paths = ["/home/me/train.py", "/home/me/model.py"];
    expect(shortestEnd("/home/me/train.py", paths)).toBe("train.py");
  });

  test("has as many folders as tell it from others", () => {
    const paths = ["/a/x/__init__.py", "/b/x/__init__.py", "C:\\a\\y\\__init__.py"];
    expect(shortestEnd("/a/x/__init__.py", paths)).toBe("a/x/__init__.py");
    expect(shortestEnd("C:\\a\\y\\__init__.py", paths)).toBe("y\\__init__.py");
  });

  test("is the whole path where it is the end of another one", () => {
    expect(shortestEnd("train.py", ["train.py", "/home/train.py"])).toBe("train.py");
    expect(shortestEnd("/train.py", ["/train.py", "/home/train.py"])).toBe("/train.py");
  });

  test("is of one file only, and a filter with it is about its line, whatever the paths are", () => {
    const draw = random(7);
    for (let i = 0; i < 300; i++) {
      const path = () => `/${Array.from({ length: 1 + draw(4) }, () => "abc"[draw(3)]).join("/")}.py`;
      const paths = [...new Set(Array.from({ length: 1 + draw(8) }, path))];
      for (const one of paths) {
        const end = shortestEnd(one, paths);
        expect(paths.filter((other) => lineOfFilter(`${end}:7`, other) === 7)).toEqual([one]);
      }
    }
  });
});

test("a filter is about a line only if it names one, of this file", () => {
  expect(lineOfFilter("model.py:41", "/home/me/model.py")).toBe(41);
  expect(lineOfFilter("Cell In[4]:3", "Cell In[4]")).toBe(3);
  expect(lineOfFilter("model.py:41", "/home/me/my_model.py")).toBeUndefined();
  expect(lineOfFilter("model.py", "/home/me/model.py")).toBeUndefined();
  expect(lineOfFilter(undefined, "/home/me/model.py")).toBeUndefined();
});

test("cells of notebooks have names for people, by their number or by their order", () => {
  const cells = cellNames([
    "/jupyter/ipykernel_26533/1570506886.py",
    "/home/me/train.py",
    "/jupyter/ipykernel_26533/99.py",
    "/jupyter/ipykernel_26533/1570506886.py",
    "<ipython-input-4-0a1b2c>",
    "Cell In[2]",
  ]);
  expect([...cells]).toEqual([
    ["/jupyter/ipykernel_26533/1570506886.py", "cell 1"],
    ["/jupyter/ipykernel_26533/99.py", "cell 2"],
    ["<ipython-input-4-0a1b2c>", "Cell In[4]"],
  ]);
});

describe("the mark of a line", () => {
  const line = (parts: Partial<LineOps>): LineOps => ({ ...MADE, line: 3, ops: [], ...parts });

  test("has the worst health and the number of ops", () => {
    const made = line({ num_ops: 1200, num_tensors: 40, num_bad: 2, health: "bad" });
    const mark = madeMarks([made]).get(3);
    expect([mark?.sign, mark?.count]).toEqual(["bad", "1200"]);
    expect(mark?.words).toBe("line 3: 1,200 ops with 40 tensors, 2 of them with NaN or ∞");
  });

  test("of a line without ops has the number of calls", () => {
    const made = line({ executions: 4, bad_executions: 0, health: "good" });
    expect(madeMarks([made]).get(3)?.count).toBe("4");
    expect(madeWords(made)).toBe("4 calls from Python · no NaN or ∞");
  });

  test("says when nothing is on record, and when nothing was measured", () => {
    expect(madeWords(line({ num_ops: 1 }))).toBe("1 op · no values on record");
    const unmeasured = line({ num_ops: 1, num_tensors: 2, health: "unmeasured" });
    expect(madeWords(unmeasured)).toBe("1 op with 2 tensors · not measured");
    expect(signOf("of a later version")).toBe("none");
  });

  test("and that of an op say how many tensors are bad", () => {
    const op = { ...OP, graph_id: "g1" as never, num_tensors: 40, num_bad: 2, health: "bad" };
    expect(tensorWords(op)).toBe("2 of 40 NaN/∞");
    expect(tensorWords({ ...op, num_bad: 0, health: "good" })).toBe("0 of 40 NaN/∞");
    expect(tensorWords({ ...op, num_bad: 0, health: "unmeasured" })).toBe("40 not measured");
    expect(tensorWords({ ...op, num_tensors: 0, num_bad: 0 })).toBe("no values on record");
  });
});

test("files are found by their paths and by the names of their cells", () => {
  const file = (file_path: string, index: number): SourceFileOps => ({
    ...MADE,
    host_name: "worker0",
    file_path,
    index: fileIndex(index),
    origin: "user",
    line: 1,
  });
  const files = [file("/home/me/Train.py", 0), file("/jupyter/ipykernel_1/2.py", 1)];
  const cells = cellNames(files.map(({ file_path }) => file_path));
  expect(filesWith(files, " train", cells)).toEqual([files[0]]);
  expect(filesWith(files, "cell 1", cells)).toEqual([files[1]]);
  expect(filesWith(files, "", cells)).toEqual(files);
});

describe("what is found in a file", () => {
  const lines = [
    { number: undefined, text: "# … log not recorded" },
    { number: 7, text: "Log(log(x))" },
    { number: 8, text: "a.b" },
  ];

  test("is each place of the text, but in gaps", () => {
    expect(occurrences(lines, "log")).toEqual([
      { row: 2, from: 0, to: 3 },
      { row: 2, from: 4, to: 7 },
    ]);
    expect(occurrences(lines, ".")).toEqual([{ row: 3, from: 1, to: 2 }]);
    expect(occurrences(lines, "")).toEqual([]);
  });

  test("begins at the line that is shown", () => {
    const found = occurrences(lines, "b");
    expect(firstFrom([...occurrences(lines, "x"), ...found], 3)).toBe(1);
    expect(firstFrom(found, 9)).toBe(0);
  });

  test("is the text itself, whatever it is", () => {
    const draw = random(3);
    const text = () => Array.from({ length: draw(6) }, () => "aA.(*[\\"[draw(7)]).join("");
    for (let i = 0; i < 300; i++) {
      const [line, sought] = [text() + text(), text()];
      for (const { from, to } of occurrences([{ number: 1, text: line }], sought))
        expect(line.slice(from, to).toLowerCase()).toBe(sought.toLowerCase());
      const isThere = sought !== "" && line.toLowerCase().includes(sought.toLowerCase());
      expect(occurrences([{ number: 1, text: line }], sought).length > 0).toBe(isThere);
    }
  });
});

describe("the address for an editor", () => {
  test("names the file and the line", () => {
    expect(editorLink("/home/me/train.py", 41)).toBe("vscode://file/home/me/train.py:41");
    expect(editorLink("C:\\me\\train.py", 2)).toBe("vscode://file/C:/me/train.py:2");
  });

  test("is only about the path, whatever the recording has in it", () => {
    expect(editorLink("/a b/#x?y.py", 1)).toBe("vscode://file/a%20b/%23x%3Fy.py:1");
    expect(editorLink("javascript:alert(1)", 1)).toBeUndefined();
  });

  test("is not there for what is no file", () => {
    expect(editorLink("Cell In[4]", 3)).toBeUndefined();
    expect(editorLink("/jupyter/ipykernel_1/2.py", 3)).toBeUndefined();
    expect(editorLink("", 3)).toBeUndefined();
  });
});
