/**
 * A read-only view of one source file. It is most of the page's size, so it is fetched only when it is
 * needed.
 */
import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, gutter, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { positionOfLine, type ShownLine } from "../model/source";

export interface SourceEditor {
  /**
   * `line` and `stackLines` are line numbers of the file; lines that the text does not have are not marked.
   */
  show(lines: readonly ShownLine[], line: number, stackLines: ReadonlySet<number>): void;
  destroy(): void;
}

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "12px", color: "var(--text)", backgroundColor: "var(--panel)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "18px" },
  ".cm-content": { padding: "0" },
  ".cm-gutters": {
    backgroundColor: "var(--panel)",
    color: "var(--dim)",
    border: "none",
    fontVariantNumeric: "tabular-nums",
  },
  ".cm-line-focused": { backgroundColor: "var(--line-focused)", boxShadow: "inset 3px 0 var(--focus)" },
  ".cm-stack-gutter": { width: "12px", textAlign: "center", color: "var(--focus)" },
});

const highlight = syntaxHighlighting(
  HighlightStyle.define([
    {
      tag: [
        tags.keyword,
        tags.operatorKeyword,
        tags.controlKeyword,
        tags.definitionKeyword,
        tags.moduleKeyword,
      ],
      color: "var(--syn-keyword)",
    },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--syn-string)" },
    { tag: [tags.number, tags.bool, tags.null], color: "var(--syn-number)" },
    { tag: [tags.comment], color: "var(--syn-comment)", fontStyle: "italic" },
    {
      tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)],
      color: "var(--syn-name)",
    },
    { tag: [tags.meta], color: "var(--syn-number)" },
  ]),
);

class StackMark extends GutterMarker {
  override toDOM(): Node {
    return document.createTextNode("▸");
  }
}
const stackMark = new StackMark();

export function createEditor(parent: HTMLElement): SourceEditor {
  const view = new EditorView({ parent });
  return {
    show(lines, line, stackLines) {
      const position = positionOfLine(lines, line);
      const state = stateOf(lines, position, stackLines);
      view.setState(state);
      if (position !== undefined)
        view.dispatch({ effects: EditorView.scrollIntoView(state.doc.line(position).from) });
    },
    destroy: () => view.destroy(),
  };
}

/** Scrolls only the editor; CodeMirror's own function scrolls the page too. */
const scrollInside = EditorView.scrollHandler.of(({ contentDOM, scrollDOM: scroller }) => {
  const line = contentDOM.querySelector(".cm-line-focused")?.getBoundingClientRect();
  if (line === undefined) return false;
  const { top, bottom } = scroller.getBoundingClientRect();
  scroller.scrollTop += (line.top + line.bottom - top - bottom) / 2;
  scroller.scrollLeft = 0;
  return true;
});

function stateOf(
  lines: readonly ShownLine[],
  position: number | undefined,
  stackLines: ReadonlySet<number>,
): EditorState {
  // A recorded line may have characters that CodeMirror takes for a line break.
  const doc = lines.map(({ text }) => text.replace(/[\r\n]+$/, "").replace(/[\r\n]/g, " ")).join("\n");
  return EditorState.create({
    doc,
    extensions: [
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({ "aria-label": "Source code", tabindex: "0" }),
      stackGutter(lines, stackLines),
      scrollInside,
      lineNumbers({ formatNumber: (n) => numberText(lines, n) }),
      python(),
      highlight,
      theme,
      EditorView.decorations.of((view) => focusedLine(view.state, position)),
    ],
  });
}

/** CodeMirror also asks for the number of a line after the last, to measure the width of numbers. */
function numberText(lines: readonly ShownLine[], n: number): string {
  const line = n > lines.length ? lines.at(-1) : lines[n - 1];
  return line?.number === undefined ? "" : String(line.number);
}

function focusedLine(state: EditorState, position: number | undefined) {
  const marks = new RangeSetBuilder<Decoration>();
  if (position !== undefined) {
    const at = state.doc.line(position).from;
    marks.add(
      at,
      at,
      Decoration.line({ class: "cm-line-focused", attributes: { "data-testid": "source-line-focused" } }),
    );
  }
  return marks.finish();
}

function stackGutter(lines: readonly ShownLine[], stackLines: ReadonlySet<number>) {
  return gutter({
    class: "cm-stack-gutter",
    lineMarker: (view, block) => {
      const line = lines[view.state.doc.lineAt(block.from).number - 1]?.number;
      return line !== undefined && stackLines.has(line) ? stackMark : null;
    },
  });
}
