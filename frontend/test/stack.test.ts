import { expect, test } from "vitest";
import { frameId } from "../src/base/ids";
import { filesOf, foldStack, framesOf, mainFrame } from "../src/model/stack";

/** "U main.py:3 L tf.py:9", outermost first, as a stack. */
function stack(drawing: string) {
  const frames = drawing.split(" ").filter(Boolean);
  const parsed = Array.from({ length: frames.length / 2 }, (_, i) => {
    const [path = "", line = "0"] = (frames[2 * i + 1] ?? "").split(":");
    return { origin: frames[2 * i] === "L" ? "library" : "user", path, line: Number(line) };
  });
  return framesOf(
    parsed.map((_, i) => frameId(`f${i}`)),
    {
      stack_frames: parsed.map(({ path, line }) => ["host", path, line, "func"] as const),
      details: parsed.map(({ origin }) => ({ origin, file_index: undefined, text: undefined })),
    },
  );
}

/** The parts as a drawing: "[2]" for two folded frames. */
function drawn(drawing: string): string {
  return foldStack(stack(drawing))
    .map((part) =>
      part.kind === "folded" ? `[${part.frames.length}]` : `${part.frame.path}:${part.frame.line}`,
    )
    .join(" ");
}

test("adjacent library frames are folded, and the innermost frame comes first", () => {
  expect(drawn("U main.py:3 L tf.py:9 L tf.py:8 U loss.py:4 L ops.py:1")).toBe("[1] loss.py:4 [2] main.py:3");
});

test("a stack of only library frames stays open", () => {
  expect(drawn("L a.py:1 L b.py:2")).toBe("b.py:2 a.py:1");
  expect(drawn("")).toBe("");
});

test("the user's innermost frame is the one to open", () => {
  expect(mainFrame(stack("U main.py:3 L tf.py:9 U loss.py:4 L ops.py:1"))?.path).toBe("loss.py");
  expect(mainFrame(stack("L tf.py:9 L ops.py:1"))?.path).toBe("ops.py");
  expect(mainFrame([])).toBeUndefined();
});

test("each file of a stack is listed once, the user's before the libraries'", () => {
  expect(
    filesOf(stack("U main.py:3 L tf.py:9 U main.py:8 U loss.py:4 L tf.py:1")).map(({ path }) => path),
  ).toEqual(["loss.py", "main.py", "tf.py"]);
});

test("an answer with more frames than asked for is refused", () => {
  expect(() => framesOf([], { stack_frames: [["h", "a.py", 1, "f"]], details: [] })).toThrow(
    "more stack frames",
  );
});
