/**
 * A read-only view of one source file. It is most of the page's size, so it is fetched only when it is
 * needed.
 */
import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, type Extension, RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, gutter, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { LineMark } from "../../model/live/places";
import { positionOfLine, type ShownLine } from "../../model/source";
import { type MadeMark, type Occurrence, SIGNS } from "../../model/source_files";

/** The marks of a program that runs, by line number of the file. */
export interface BreakpointMarks {
  readonly marks: ReadonlyMap<number, LineMark>;
  /** Called when the reader clicks beside a line. */
  readonly toggle: (line: number) => void;
}

/** What lines made and ran, by line number of the file. */
export interface MadeMarks {
  readonly marks: ReadonlyMap<number, MadeMark>;
  /** The line whose ops are listed. */
  readonly listed: number | undefined;
}

/** What the editor says of the reader's keys and clicks. */
export interface EditorEvents {
  /** The reader chose a line with a mark, to see what it made. */
  choose(line: number): void;
  /** The keyboard went to a line. */
  moved(line: number | undefined): void;
  /** The reader wants to search in the text. */
  find(): void;
}

export interface SourceEditor {
  /**
   * `line` and `stackLines` are line numbers of the file; lines that the text does not have are not marked.
   */
  show(lines: readonly ShownLine[], line: number, stackLines: ReadonlySet<number>): void;
  /** Shows where a program can stop; undefined without a program, when there is no room for it. */
  mark(breakpoints: BreakpointMarks | undefined): void;
  /** Shows what lines made and ran. */
  count(made: MadeMarks): void;
  /** Marks what was found, and brings one of it into view. */
  find(found: readonly Occurrence[], active: number): void;
  /** Brings a line of the file into view. */
  reveal(line: number): void;
  focus(): void;
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
  ".cm-made-gutter": { minWidth: "42px", cursor: "pointer" },
  ".cm-made": {
    display: "flex",
    justifyContent: "space-between",
    gap: "3px",
    padding: "0 4px",
    borderRadius: "3px",
    fontFamily: "var(--sans)",
    fontSize: "11px",
  },
  ".cm-made:hover": { backgroundColor: "var(--hover)" },
  ".cm-made-listed, .cm-made-listed:hover": {
    backgroundColor: "var(--selected)",
    boxShadow: "inset 0 0 0 1px var(--focus)",
  },
  ".cm-made-bad": { color: "var(--bad)", fontWeight: "600" },
  ".cm-made-good b": { color: "var(--good)" },
  ".cm-made b": { fontWeight: "400" },
  ".cm-found": { backgroundColor: "var(--input-tint)", outline: "1px solid var(--input-tag)" },
  ".cm-found-active": { backgroundColor: "var(--selected)", outline: "2px solid var(--focus)" },
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

/** Parts of the text that are shown anew without the rest. */
const BREAKS = new Compartment();
const MADE = new Compartment();
const FOUND = new Compartment();

export function createEditor(parent: HTMLElement, events: EditorEvents): SourceEditor {
  const view = new EditorView({ parent });
  let shown: readonly ShownLine[] = [];
  let marked: BreakpointMarks | undefined;
  let made: MadeMarks = { marks: new Map(), listed: undefined };
  const parts = () => [
    BREAKS.of(marked === undefined ? [] : breakpointGutter(shown, marked)),
    MADE.of(madeGutter(shown, made, events)),
    FOUND.of([]),
  ];
  return {
    show(lines, line, stackLines) {
      shown = lines;
      const position = positionOfLine(lines, line);
      const keyboard = cursor({ lines, first: position ?? 1, events, made: () => made });
      const state = stateOf(lines, position, stackLines, [parts(), keyboard]);
      view.setState(state);
      if (position !== undefined)
        view.dispatch({ effects: EditorView.scrollIntoView(state.doc.line(position).from) });
    },
    mark(breakpoints) {
      marked = breakpoints;
      const gutters = marked === undefined ? [] : breakpointGutter(shown, marked);
      view.dispatch({ effects: BREAKS.reconfigure(gutters) });
    },
    count(next) {
      made = next;
      view.dispatch({ effects: MADE.reconfigure(madeGutter(shown, made, events)) });
    },
    find(found, active) {
      view.dispatch({ effects: FOUND.reconfigure(foundMarks(view.state, found, active)) });
      bringIntoView(view, found[active]?.row);
    },
    reveal: (line) => bringIntoView(view, positionOfLine(shown, line), "nearest"),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

/** Scrolls to a row of the text if it is not in view; only the editor scrolls. */
function bringIntoView(view: EditorView, row: number | undefined, where: "nearest" | "middle" = "middle") {
  const { state, scrollDOM: scroller } = view;
  if (row === undefined || row > state.doc.lines) return;
  const { top, bottom } = view.lineBlockAt(state.doc.line(row).from);
  const end = scroller.scrollTop + scroller.clientHeight;
  if (top >= scroller.scrollTop && bottom <= end) return;
  if (where === "middle") scroller.scrollTop = (top + bottom - scroller.clientHeight) / 2;
  else scroller.scrollTop = bottom > end ? bottom - scroller.clientHeight : top;
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
  parts: Extension,
): EditorState {
  // A recorded line may have characters that CodeMirror takes for a line break.
  const doc = lines.map(({ text }) => text.replace(/[\r\n]+$/, "").replace(/[\r\n]/g, " ")).join("\n");
  return EditorState.create({
    doc,
    extensions: [
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({ "aria-label": "Source code", tabindex: "0" }),
      parts,
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

class MadeGutterMark extends GutterMarker {
  constructor(
    readonly mark: MadeMark,
    readonly isListed: boolean,
  ) {
    super();
  }
  override eq(other: MadeGutterMark): boolean {
    return other.mark.words === this.mark.words && other.isListed === this.isListed;
  }
  override toDOM(): Node {
    const { sign, count, words } = this.mark;
    const element = document.createElement("span");
    element.className = `cm-made cm-made-${sign} ${this.isListed ? "cm-made-listed" : ""}`;
    element.title = `${words} (a click lists them)`;
    element.dataset.testid = `source-made-${sign}`;
    const shape = document.createElement("b");
    shape.textContent = SIGNS[sign];
    element.append(shape, count);
    return element;
  }
}

/** The gutter that sets and removes breakpoints. */
function breakpointGutter(lines: readonly ShownLine[], { marks, toggle }: BreakpointMarks): Extension {
  const markOf = (line: number) => {
    const mark = marks.get(line);
    return mark === undefined ? null : new BreakMark(mark);
  };
  return lineGutter("cm-break-gutter", lines, markOf, toggle);
}

/** The gutter with what lines made and ran. */
function madeGutter(lines: readonly ShownLine[], { marks, listed }: MadeMarks, { choose }: EditorEvents) {
  const markOf = (line: number) => {
    const mark = marks.get(line);
    return mark === undefined ? null : new MadeGutterMark(mark, line === listed);
  };
  return lineGutter("cm-made-gutter", lines, markOf, (line) => marks.has(line) && choose(line));
}

/** A gutter with marks beside some lines, and what a click beside any line does. */
function lineGutter(
  className: string,
  lines: readonly ShownLine[],
  markOf: (line: number) => GutterMarker | null,
  act: (line: number) => void,
): Extension {
  const numberAt = (view: EditorView, at: number) => lines[view.state.doc.lineAt(at).number - 1]?.number;
  return gutter({
    class: className,
    lineMarker: (view, block) => {
      const line = numberAt(view, block.from);
      return line === undefined ? null : markOf(line);
    },
    domEventHandlers: {
      click: (view, block) => {
        const line = numberAt(view, block.from);
        if (line !== undefined) act(line);
        return line !== undefined;
      },
    },
  });
}

function foundMarks(state: EditorState, found: readonly Occurrence[], active: number): Extension {
  const marks = new RangeSetBuilder<Decoration>();
  for (const [i, { row, from, to }] of found.entries()) {
    if (row > state.doc.lines) continue;
    const begin = state.doc.line(row).from;
    const look = i === active ? "cm-found cm-found-active" : "cm-found";
    marks.add(begin + from, begin + to, Decoration.mark({ class: look }));
  }
  return EditorView.decorations.of(marks.finish());
}

/** What the cursor of the keyboard is about. */
interface Cursor {
  readonly lines: readonly ShownLine[];
  /** The row that is shown, from 1, at which the cursor begins. */
  readonly first: number;
  readonly events: EditorEvents;
  readonly made: () => MadeMarks;
}

/**
 * A cursor line for the keyboard, because the text is not editable and CodeMirror has no cursor of its own: F9
 * and Enter are about the line that was clicked or that the arrow keys went to.
 */
function cursor(of: Cursor): Extension {
  return [
    EditorView.contentAttributes.of(({ state }) => cursorAttributes(of, state)),
    EditorView.decorations.of(({ state }) => cursorLine(state)),
    EditorView.updateListener.of(({ selectionSet, state }) => {
      if (selectionSet) of.events.moved(lineOf(of, rowOf(of, state)));
    }),
    EditorView.domEventHandlers({ keydown: (event, view) => takeKey(of, event, view), click: placeCursor }),
  ];
}

function lineOf({ lines }: Cursor, row: number): number | undefined {
  return lines[row - 1]?.number;
}

function rowOf({ first }: Cursor, { doc, selection }: EditorState): number {
  return selection.main.head === 0 ? Math.min(first, doc.lines) : doc.lineAt(selection.main.head).number;
}

function cursorAttributes(of: Cursor, state: EditorState): Record<string, string> {
  const line = lineOf(of, rowOf(of, state));
  const keys = { "aria-keyshortcuts": "F9 Enter Alt+ArrowDown Alt+ArrowUp Control+F" };
  return line === undefined ? keys : { ...keys, "data-cursor-line": String(line) };
}

function cursorLine(state: EditorState) {
  const { main } = state.selection;
  const mark = Decoration.line({ class: "cm-line-cursor" });
  return Decoration.set(main.head === 0 ? [] : [mark.range(state.doc.lineAt(main.head).from)]);
}

/** The arrows go up or down a line, with Alt to the next one with a mark; Enter lists what a line made. */
function takeKey(of: Cursor, event: KeyboardEvent, view: EditorView): boolean {
  if (event.shiftKey) return false;
  const isPlain = !event.ctrlKey && !event.metaKey;
  const row = rowOf(of, view.state);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step !== undefined && isPlain) goToRow(view, event.altKey ? nextMark(of, row, step) : row + step);
  else if (event.key === "Enter" && isPlain && !event.altKey) {
    const line = lineOf(of, row);
    if (line === undefined || !of.made().marks.has(line)) return false;
    of.events.choose(line);
  } else if (event.key === "f" && !isPlain && !event.altKey) of.events.find();
  else return false;
  event.preventDefault();
  return true;
}

/** The next row with a mark; the same row when there is none. */
function nextMark(of: Cursor, from: number, step: number): number {
  const { marks } = of.made();
  for (let row = from + step; row > 0 && row <= of.lines.length; row += step)
    if (marks.has(lineOf(of, row) ?? 0)) return row;
  return from;
}

function goToRow(view: EditorView, row: number): void {
  const { doc } = view.state;
  const at = Math.max(1, Math.min(doc.lines, row));
  view.dispatch({ selection: { anchor: doc.line(at).to } });
  bringIntoView(view, at, "nearest");
}

function placeCursor(event: MouseEvent, view: EditorView): boolean {
  const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
  if (at !== null && window.getSelection()?.isCollapsed !== false)
    view.dispatch({ selection: { anchor: view.state.doc.lineAt(at).to } });
  return false;
}
