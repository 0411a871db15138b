/**
 * A read-only view of one source file. It is most of the page's size, so it is fetched only when it is
 * needed.
 */
import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, type Extension, RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, gutter, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { LineMark } from "../model/live/places";
import { positionOfLine, type ShownLine } from "../model/source";

/** The marks of a program that runs, by line number of the file. */
export interface BreakpointMarks {
  readonly marks: ReadonlyMap<number, LineMark>;
  /** Called when the reader clicks beside a line. */
  readonly toggle: (line: number) => void;
}

export interface SourceEditor {
  /**
   * `line` and `stackLines` are line numbers of the file; lines that the text does not have are not marked.
   */
  show(lines: readonly ShownLine[], line: number, stackLines: ReadonlySet<number>): void;
  /** Shows where a program can stop; undefined without a program, when there is no room for it. */
  mark(breakpoints: BreakpointMarks | undefined): void;
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
  ".cm-line-cursor": { outline: "1px dashed var(--faint)", outlineOffset: "-1px" },
  ".cm-break-gutter": { width: "17px", cursor: "pointer" },
  ".cm-break-gutter .cm-gutterElement": { display: "grid", placeItems: "center" },
  ".cm-break": { width: "10px", height: "10px", borderRadius: "50%", border: "1.5px solid transparent" },
  ".cm-break-on": { backgroundColor: "var(--breakpoint)", borderColor: "var(--breakpoint)" },
  ".cm-break-off": { borderColor: "var(--breakpoint)" },
  ".cm-break-problem": { borderColor: "var(--breakpoint)", borderStyle: "dashed" },
  ".cm-break-possible": { width: "4px", height: "4px", backgroundColor: "var(--faint)" },
  ".cm-break-gutter .cm-gutterElement:hover .cm-break-possible, .cm-break-none:hover": {
    width: "10px",
    height: "10px",
    backgroundColor: "color-mix(in srgb, var(--breakpoint) 35%, transparent)",
  },
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
  const breaks = new Compartment();
  let shown: readonly ShownLine[] = [];
  let marked: BreakpointMarks | undefined;
  const breakGutter = () => (marked === undefined ? [] : breakpointGutter(shown, marked));
  return {
    show(lines, line, stackLines) {
      shown = lines;
      const position = positionOfLine(lines, line);
      const state = stateOf(lines, position, stackLines, breaks.of(breakGutter()));
      view.setState(state);
      if (position !== undefined)
        view.dispatch({ effects: EditorView.scrollIntoView(state.doc.line(position).from) });
    },
    mark(breakpoints) {
      marked = breakpoints;
      view.dispatch({ effects: breaks.reconfigure(breakGutter()) });
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
  breaks: Extension,
): EditorState {
  // A recorded line may have characters that CodeMirror takes for a line break.
  const doc = lines.map(({ text }) => text.replace(/[\r\n]+$/, "").replace(/[\r\n]/g, " ")).join("\n");
  return EditorState.create({
    doc,
    extensions: [
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({ "aria-label": "Source code", tabindex: "0" }),
      breaks,
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

class BreakMark extends GutterMarker {
  constructor(readonly mark: LineMark) {
    super();
  }
  override eq(other: BreakMark): boolean {
    return other.mark.kind === this.mark.kind && other.mark.title === this.mark.title;
  }
  override toDOM(): Node {
    const element = document.createElement("span");
    element.className = `cm-break cm-break-${this.mark.kind}`;
    element.title = this.mark.title;
    element.dataset.testid = `source-break-${this.mark.kind}`;
    return element;
  }
}

/**
 * The gutter that sets and removes breakpoints, and a cursor line for the keyboard: F9 is about the line that
 * was clicked or that the arrow keys went to.
 */
function breakpointGutter(lines: readonly ShownLine[], { marks, toggle }: BreakpointMarks): Extension {
  const numberAt = (view: EditorView, at: number) => lines[view.state.doc.lineAt(at).number - 1]?.number;
  return [
    gutter({
      class: "cm-break-gutter",
      lineMarker: (view, block) => {
        const mark = marks.get(numberAt(view, block.from) ?? 0);
        return mark === undefined ? null : new BreakMark(mark);
      },
      domEventHandlers: {
        click: (view, block) => {
          const line = numberAt(view, block.from);
          if (line !== undefined) toggle(line);
          return line !== undefined;
        },
      },
    }),
    EditorView.contentAttributes.of((view) =>
      cursorAttributes(numberAt(view, view.state.selection.main.head)),
    ),
    EditorView.decorations.of(({ state }) => cursorLine(state)),
    EditorView.domEventHandlers({ keydown: moveCursor, click: placeCursor }),
  ];
}

function cursorAttributes(line: number | undefined): Record<string, string> {
  return line === undefined ? {} : { "data-cursor-line": String(line), "aria-keyshortcuts": "F9" };
}

function cursorLine(state: EditorState) {
  const { main } = state.selection;
  const mark = Decoration.line({ class: "cm-line-cursor" });
  return Decoration.set(main.head === 0 ? [] : [mark.range(state.doc.lineAt(main.head).from)]);
}

/** Goes up or down a line; the text is not editable, so CodeMirror has no cursor of its own. */
function moveCursor(event: KeyboardEvent, view: EditorView): boolean {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return false;
  const { doc, selection } = view.state;
  const line = Math.max(1, Math.min(doc.lines, doc.lineAt(selection.main.head).number + step));
  view.dispatch({ selection: { anchor: doc.line(line).to } });
  view.dom.querySelector(".cm-line-cursor")?.scrollIntoView({ block: "nearest" });
  event.preventDefault();
  return true;
}

function placeCursor(event: MouseEvent, view: EditorView): boolean {
  const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
  if (at !== null && window.getSelection()?.isCollapsed !== false)
    view.dispatch({ selection: { anchor: view.state.doc.lineAt(at).to } });
  return false;
}
