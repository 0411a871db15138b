/** Groups of the rows of a list, with how many there are and the worst health. One opens to its rows. */
import { shown } from "../../base/loaded";
import { basename, counted, grouped } from "../../base/text";
import { criteriaOf } from "../../model/completion";
import { displayName } from "../../model/names";
import { termOfGroup } from "../../store/tables/tables";
import { Failure, Hint } from "../panel";
import type { Of, Takes, With } from "../props";

type Uses = Takes<"shownList" | "tables.groups" | "tables.wish", "addTerm" | "wish">;

const WORDS: Readonly<Record<string, string>> = {
  bad: "NaN or ∞",
  good: "finite",
  unmeasured: "not measured",
};

export function Groups({ store }: With<Uses>) {
  const loaded = store.tables.groups.value;
  const answer = shown(loaded);
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  if (answer === undefined) return <Hint>Counting …</Hint>;
  if (answer.groups.length === 0) return <Hint>No row fulfils the filter.</Hint>;
  const left = answer.num_groups - answer.groups.length;
  return (
    <div class="list-groups scroll short grow">
      <table class="wide">
        <thead>
          <tr class="dim">
            <th scope="col">{store.tables.wish.value.group?.replaceAll("_", " ")}</th>
            <th scope="col" class="num">
              rows
            </th>
            <th scope="col" class="num">
              with NaN or ∞
            </th>
            <th scope="col">worst</th>
          </tr>
        </thead>
        <tbody>
          {answer.groups.map((group) => (
            <Group key={group.value ?? ""} store={store} by={answer.by} group={group} />
          ))}
        </tbody>
      </table>
      {left > 0 && <Hint>{`${counted(left, "more group")} with fewer rows are left out.`}</Hint>}
    </div>
  );
}

interface RowGroup {
  readonly value: string | undefined;
  readonly count: number;
  readonly bad: number;
  readonly health: string;
}

function Group({ store, by, group }: With<Uses, { by: string; group: RowGroup }>) {
  const { value, count, bad, health } = group;
  const open = opener(store, by, value);
  const name = value === undefined ? "none" : nameOf(by, value);
  return (
    <tr class={bad > 0 ? "row-bad" : ""} data-testid="list-group">
      <th scope="row" class="group-name">
        {open === undefined ? (
          <span class="cut" title={value}>
            {name}
          </span>
        ) : (
          <button type="button" class="link cut" title={`${value ?? "none"}: show its rows`} onClick={open}>
            {name}
          </button>
        )}
      </th>
      <td class="num">{grouped(count)}</td>
      <td class={`num ${bad > 0 ? "bad" : "dim"}`}>{grouped(bad)}</td>
      <td class={health === "bad" ? "bad" : health === "good" ? "good" : "dim"}>{WORDS[health]}</td>
    </tr>
  );
}

/** Shows the rows of a group in place of the groups; undefined where no filter leaves just these. */
function opener(store: Of<Uses>, by: string, value: string | undefined): (() => void) | undefined {
  const term = termOfGroup(criteriaOf(store.shownList.value), by, value);
  if (term === undefined) return undefined;
  return () => {
    store.addTerm(term);
    store.wish({ group: undefined });
  };
}

function nameOf(by: string, value: string): string {
  if (by === "line") return basename(value);
  return by === "function" || by === "op_type" ? displayName(value) : value;
}
