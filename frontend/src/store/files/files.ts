/** The recorded source files: what their lines made, the line whose ops are listed, and the search in them. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { remember, remembered } from "../../base/host";
import { shown } from "../../base/loaded";
import { valueIn } from "../../model/filters";
import { longOf } from "../../model/inventory";
import type { SourceLine } from "../../model/source";
import { cellNames, lineOfFilter, shortestEnd } from "../../model/source_files";
import { setter, type Timer } from "../common/activity";
import type { FocusedFacts, LineFocus } from "../focus/facts";
import type { FilterVerbs } from "../lists/run_lists";
import { type ByKey, both, type Deps } from "../run/run";
import type { SourceVerbs } from "../source/source";

/** The most answers about files that are kept. */
const KEPT = 4;
/** Lines with a text that are listed. */
export const MOST_LINES = 200;
/** Seconds without a key press before the lines of all files are searched. */
const PAUSE_S = 0.2;
/** Shorter texts are in nearly every line. */
const LEAST_LETTERS = 2;
const LINKS = "editorLinks";

/** What the slice needs of others. */
export interface FilesDeps extends Deps<FocusedFacts> {
  readonly timer: Timer;
  /** The line that is shown. */
  readonly sourceLine: ReadonlySignal<SourceLine | undefined>;
  readonly verbs: Pick<FilterVerbs, "addTerm" | "forgetWord" | "showList"> & Pick<SourceVerbs, "focusLine">;
}

export function createFiles(deps: FilesDeps, byKey: ByKey) {
  /** Whether the files are listed in place of the code. */
  const isOpen = signal(false);
  const asked = createAsked(deps, byKey, isOpen);
  const isLinked = signal(remembered(LINKS) === "on");
  return {
    isOpen,
    show: setter(isOpen),
    ...asked,
    ...createLineVerbs(deps, asked),
    /** Shows a line of a file. */
    open(line: LineFocus): void {
      isOpen.value = false;
      deps.verbs.focusLine(line);
    },
    /** Whether there is a link that opens the line in an editor on the reader's machine. */
    isLinked,
    setLinked(isOn: boolean): void {
      isLinked.value = isOn;
      remember(LINKS, isOn ? "on" : "off");
    },
    ...createLineSearch(deps, byKey, isOpen),
  };
}

type Asked = ReturnType<typeof createAsked>;

/** The paths of all recorded files, in the order of their positions. */
interface Recorded {
  readonly paths: readonly string[];
  /** The generation that they are of. */
  readonly at: number;
}

function createAsked({ api, facts, sourceLine }: FilesDeps, byKey: ByKey, isOpen: ReadonlySignal<boolean>) {
  const run = () => both(facts.run.value, facts.status.value?.generation);
  const recorded = byKey(
    run,
    async ([name, at], signal): Promise<Recorded> => ({
      paths: (await api.sourceFiles(name, signal)).map(([, path]) => path),
      at,
    }),
    1,
  );
  const paths = computed(() => shown(recorded.value)?.paths ?? []);
  return {
    paths,
    /** Names for people of the paths of notebook cells. */
    cells: computed(() => cellNames(paths.value)),
    /** What the lines of the file that is shown made and ran. */
    lineOps: byKey(
      () => both(facts.run.value, positionIn(shown(recorded.value), sourceLine.value)),
      ([name, { file }], signal) => api.sourceOps(name, file, signal),
      KEPT,
    ),
    /** All files with what they made, while they are listed. */
    counts: byKey(
      () => (isOpen.value ? run() : undefined),
      ([name], signal) => api.sourceCounts(name, signal),
      1,
    ),
  };
}

/** The file of a line, if it is on record: a run that began anew may not have the file that is shown. */
function positionIn(recorded: Recorded | undefined, line: SourceLine | undefined) {
  if (recorded === undefined || line?.file === undefined) return undefined;
  const path = recorded.paths[line.file];
  const isThere = path !== undefined && (line.path === "" || line.path === path);
  return isThere ? { file: line.file, at: recorded.at } : undefined;
}

/** The line whose ops are listed is that of the filter of a list, so that a link has it and a chip removes it. */
function createLineVerbs({ facts, sourceLine, verbs }: FilesDeps, { paths, lineOps }: Asked) {
  const { wishes, shownList } = facts;
  const listedLine = computed(() => {
    const path = sourceLine.value?.path ?? "";
    const { executions, graph_executions } = wishes;
    const list = longOf(shownList.value);
    const others = list === "executions" ? graph_executions : executions;
    const lines = [wishes[list], others].map(({ value }) =>
      lineOfFilter(valueIn(value.filter, "file"), path),
    );
    return path === "" ? undefined : lines.find((line) => line !== undefined);
  });
  const closeLine = () => verbs.forgetWord("file");
  return {
    listedLine,
    closeLine,
    /** Lists what a line made, here and in the long lists; if that is listed, all rows are again. */
    listLine(line: number): void {
      const made = shown(lineOps.peek())?.find((one) => one.line === line);
      const path = sourceLine.peek()?.path ?? "";
      if (listedLine.peek() === line) closeLine();
      else if (made !== undefined && path !== "") {
        verbs.showList(made.num_ops > 0 ? "graph_executions" : "executions");
        const end = shortestEnd(path, paths.peek());
        verbs.addTerm({ word: "file", sign: ":", value: `${end}:${line}` });
      }
    },
  };
}

function createLineSearch({ api, facts, timer }: FilesDeps, byKey: ByKey, isOpen: ReadonlySignal<boolean>) {
  /** What is written in the field. */
  const text = signal("");
  const sought = signal("");
  let cancel = () => {};
  return {
    text,
    type(next: string): void {
      text.value = next;
      cancel();
      cancel = timer.after(PAUSE_S, () => {
        sought.value = next.trim();
      });
    },
    /** The lines with the text, those of the program's own files first; undefined without a search. */
    found: byKey(
      () => {
        const isSearched = isOpen.value && sought.value.length >= LEAST_LETTERS;
        return isSearched
          ? both(facts.run.value, { text: sought.value, at: facts.status.value?.described })
          : undefined;
      },
      async ([run, { text: asked }], signal) => {
        const { lines } = await api.findLines(run, asked, MOST_LINES + 1, signal);
        return { text: asked, lines: lines.slice(0, MOST_LINES), isCut: lines.length > MOST_LINES };
      },
    ),
  };
}
