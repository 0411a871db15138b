/** The list below the timeline: names that complete its filter, and its rows as files. */
import { computed, signal } from "@preact/signals";
import { type ColumnPage, numberAt, textAt } from "../../api/columns";
import { exportAddress, type Kind, type ListName } from "../../api/routes";
import { sentence } from "../../base/loaded";
import type { Known } from "../../model/completion";
import { longOf } from "../../model/inventory";
import { chosenParams, type ListedFacts, wishOf } from "../lists/run_lists";
import { type ByKey, both, type Deps } from "../run/run";

/** Rows that are copied at most. */
const COPIED = 5000;
/** Names that complete a filter at most: those with most rows. */
const NAMES = 1000;

export function createTables(deps: Deps<ListedFacts>, byKey: ByKey) {
  const { api, facts } = deps;
  const generation = computed(() => facts.status.value?.generation);
  /** The things whose names complete what is being written; undefined for none. */
  const completed = signal<Kind | undefined>(undefined);
  return {
    tables: {
      wish: computed(() => wishOf(facts, facts.shownList.value)),
      /** The names of the things that are completed, those with most rows first. */
      names: byKey(
        () => {
          const [kind, list] = [completed.value, longOf(facts.shownList.value)];
          return both(facts.run.value, kind && { kind, list, at: generation.value });
        },
        async ([run, { kind, list }]) => {
          const order = { sort: list === "executions" ? "calls" : "computed", descending: "true" };
          return { kind, names: namesOf(await api.things(run, kind, 0, NAMES, order), list) };
        },
      ),
      complete(kind: Kind | undefined): void {
        completed.value = kind;
      },
      ...createExport(deps),
    },
  };
}

/** The names of a page of things, with how many rows of a long list each has. */
function namesOf(page: ColumnPage, list: ListName): readonly Known[] {
  const counts = list === "executions" ? "calls" : "computed";
  return Array.from({ length: page.end - page.begin }, (_, row) => ({
    value: textAt(page, "name", row),
    count: numberAt(page, counts, row) ?? 0,
  })).flatMap(({ value, count }) => (value === undefined || count === 0 ? [] : [{ value, count }]));
}

export type Tables = ReturnType<typeof createTables>["tables"];

function createExport({ api, facts, activity }: Deps<ListedFacts>) {
  return {
    /** The address of a file with the rows that are shown. */
    address(columns: readonly string[], format: "csv" | "parquet"): string {
      const run = facts.run.value;
      if (run === undefined) return "";
      return exportAddress(run, facts.shownList.value, columns, format, chosenParams(facts));
    },
    /** The first rows as text; why it failed, when it did. */
    async text(
      columns: readonly string[],
    ): Promise<{ readonly text: string } | { readonly failure: string }> {
      const run = facts.run.peek();
      if (run === undefined) return { text: "" };
      const [list, params] = [facts.shownList.peek(), chosenParams(facts)];
      try {
        return { text: await activity.track(api.rowsAsText(run, list, columns, COPIED, params)) };
      } catch (error) {
        return { failure: sentence(error) };
      }
    },
  };
}
