/** What the rows of a list have, and how wide it is: which columns are worth their space. */
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import type { ColumnPage } from "../../api/columns";
import type { Shape } from "../../model/list_columns";
import { useSize } from "../hooks";
import type { Of } from "../props";

type Uses = "graphExecutionPages" | "run" | "shownList" | "status" | "thingPages";

/** `first` is the first row that is seen. */
export function useShape(
  store: Of<Uses>,
  first: number,
): { readonly frame: RefObject<HTMLElement | null>; readonly shape: Shape } {
  const frame = useRef<HTMLElement>(null);
  const { width } = useSize(frame);
  const pages = store.graphExecutionPages.value;
  void pages?.edition.value;
  const page = pages?.at(first);
  const run = store.run.value;
  const devices = useSeen(run, page?.dictionaries.get("device"));
  const layers = useSeen(run, page?.dictionaries.get("layer"));
  const moments = useSeen(run, hasMoments(page) ? ["moments"] : []);
  const shape: Shape = {
    width,
    hasDevices: devices >= 2,
    hasLayers: layers >= 1,
    hasProcesses: (store.status.value?.hosts.length ?? 0) > 1,
    hasMoments: moments >= 1,
    known: useKnown(store, first),
  };
  return { frame, shape };
}

/** The columns of the things that are seen, or while they are fetched again, of those before. */
function useKnown({ run, shownList, thingPages }: Of<Uses>, first: number): ReadonlySet<string> {
  const kept = useRef({ key: "", known: new Set<string>() });
  const key = `${run.value} ${shownList.value}`;
  if (kept.current.key !== key) kept.current = { key, known: new Set() };
  const pages = thingPages.value;
  void pages?.edition.value;
  const page = pages?.at(first) ?? pages?.at(0);
  if (page !== undefined) kept.current.known = new Set(page.columns.keys());
  return kept.current.known;
}

function hasMoments(page: ColumnPage | undefined): boolean {
  return page?.columns.has("max") ?? false;
}

/** How many different texts the rows of a run had that were fetched so far. */
function useSeen(run: string | undefined, texts: readonly string[] | undefined): number {
  const seen = useRef({ run, texts: new Set<string>() });
  if (seen.current.run !== run) seen.current = { run, texts: new Set() };
  for (const text of texts ?? []) seen.current.texts.add(text);
  return seen.current.texts.size;
}
