/** A read-only view of one source file. Fetched only when there is source to show: it is most of the page's weight. */
import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, gutter, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface SourceEditor {
  /** `line` and `stackLines` count from 1; lines that are not there are not marked. */
  show(lines: readonly string[], line: number, stackLines: ReadonlySet<number>): void;
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
      const state = stateOf(lines, line, stackLines);
      view.setState(state);
      if (line >= 1 && line <= state.doc.lines) {
        const at = state.doc.line(line).from;
        view.dispatch({ effects: EditorView.scrollIntoView(at, { y: "center" }) });
      }
    },
    destroy: () => view.destroy(),
  };
}

function stateOf(lines: readonly string[], line: number, stackLines: ReadonlySet<number>): EditorState {
  // A recorded line may hold what CodeMirror would take for another line.
  const doc = lines.map((text) => text.replace(/[\r\n]+$/, "").replace(/[\r\n]/g, " ")).join("\n");
  return EditorState.create({
    doc,
    extensions: [
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({ "aria-label": "Source code", tabindex: "0" }),
      stackGutter(stackLines),
      lineNumbers(),
      python(),
      highlight,
      theme,
      EditorView.decorations.of((view) => focusedLine(view.state, line)),
    ],
  });
}

function focusedLine(state: EditorState, line: number) {
  const marks = new RangeSetBuilder<Decoration>();
  if (line >= 1 && line <= state.doc.lines) {
    const at = state.doc.line(line).from;
    marks.add(
      at,
      at,
      Decoration.line({ class: "cm-line-focused", attributes: { "data-testid": "source-line-focused" } }),
    );
  }
  return marks.finish();
}

function stackGutter(stackLines: ReadonlySet<number>) {
  return gutter({
    class: "cm-stack-gutter",
    lineMarker: (view, block) =>
      stackLines.has(view.state.doc.lineAt(block.from).number) ? stackMark : null,
  });
}
