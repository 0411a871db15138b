/** The list below the timeline: groups of its rows, values that complete its filter, and its rows as files. */
import { computed, signal } from "@preact/signals";
import { exportAddress, type RowParams } from "../../api/routes";
import { sentence } from "../../base/loaded";
import { type Criterion, criterionOf, type Term } from "../../model/filters";
import { type ListedFacts, rowParams } from "../lists/run_lists";
import { type ByKey, both, type Deps } from "../run/run";

/** Rows that are copied at most. */
const COPIED = 5000;

export function createTables(deps: Deps<ListedFacts>, byKey: ByKey) {
  const { api, facts } = deps;
  const generation = computed(() => facts.status.value?.generation);
  /** The column whose values complete what is being written; undefined for none. */
  const completed = signal<string | undefined>(undefined);
  const wish = computed(() => facts.wishes[facts.shownList.value].value);
  const asked = (by: string | undefined, params: RowParams) => {
    const [list, at] = [facts.shownList.value, generation.value];
    return both(facts.run.value, by === undefined ? undefined : { list, by, params, at });
  };
  return {
    tables: {
      wish,
      /** The groups of the rows; undefined while the rows are shown. */
      groups: byKey(
        () => asked(wish.value.group, chosenParams(facts)),
        ([run, { list, by, params }], signal) => api.groups(run, list, by, params, signal),
      ),
      /** The values of the column that is completed, with most bad ones first. */
      values: byKey(
        () => asked(completed.value, {}),
        ([run, { list, by, params }], signal) => api.groups(run, list, by, params, signal),
      ),
      complete(column: string | undefined): void {
        completed.value = column;
      },
      ...createExport(deps),
    },
  };
}

export type Tables = ReturnType<typeof createTables>["tables"];

/** The parameters of the rows that are shown. */
function chosenParams({ shownList, wishes, onlyBad }: ListedFacts): RowParams {
  const list = shownList.value;
  const isBad = list === "graph_executions" && onlyBad.value;
  return { ...(isBad && { health: "bad" }), ...rowParams(wishes[list].value) };
}

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

/** The term that leaves the rows of a group; undefined where no filter does. */
export function termOfGroup(
  criteria: readonly Criterion[],
  by: string,
  value: string | undefined,
): Term | undefined {
  const criterion = criteria.find(({ group }) => group === by);
  if (criterion === undefined || criterionOf(criterion.word) === undefined) return undefined;
  const isRegex = criterion.kind === "regex";
  if (value === undefined) return isRegex ? { word: criterion.word, sign: ":", value: "^$" } : undefined;
  return { word: criterion.word, sign: isRegex ? "=" : ":", value };
}
