/** What breaks the alert rules, by cause, layer, variable, line, op type, function, process or rule. */
import type { AlertGroup } from "../api/answers";
import { GROUPINGS } from "../api/rules";
import { shown } from "../base/loaded";
import { counted, grouped } from "../base/text";
import { displayName, tensorName } from "../model/names";
import { numCauses } from "../model/origin";
import { Choice, optionsOf } from "./choice";
import { Button, Failure, Hint } from "./panel";
import type { With } from "./props";

type Uses = "alertGroups" | "origins" | "focusFinding";

export function AlertGroups({ store }: With<Uses>) {
  const { isOpen, setOpen, by, setBy } = store.alertGroups;
  return (
    <>
      <Totals store={store} />
      <details
        class="rules alert-groups"
        data-testid="alert-groups"
        open={isOpen.value}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary>Alerts by cause, layer, line …</summary>
        {isOpen.value && (
          <>
            <label class="line">
              by
              <Choice options={optionsOf(GROUPINGS)} value={by.value} choose={setBy} testId="group-by" />
            </label>
            <GroupList store={store} />
          </>
        )}
      </details>
    </>
  );
}

/** How much the alerts are about: "1 cause, 131 tensors, 654,035 computations". */
function Totals({ store }: With<Uses>) {
  const found = shown(store.alertGroups.groups.value);
  if (found === undefined || found.num_alerts === 0) return null;
  const causes = numCauses(store.origins.value);
  const parts = [counted(found.num_tensors, "tensor"), counted(found.count, "computation")];
  return (
    <p class="dim alert-totals" data-testid="group-totals">
      {[...(causes > 0 ? [counted(causes, "cause")] : []), ...parts].join(", ")}
    </p>
  );
}

function GroupList({ store }: With<Uses>) {
  const loaded = store.alertGroups.groups.value;
  if (loaded?.kind === "failed") return <Failure message={loaded.message} />;
  const found = shown(loaded);
  if (found === undefined) return <Hint>Loading …</Hint>;
  if (found.groups.length === 0) return <Hint>No rule that is asked is broken.</Hint>;
  const left = found.num_groups - found.groups.length;
  return (
    <ul class="alert-group-list" aria-busy={loaded?.kind === "loading"}>
      {found.groups.map((group) => (
        <GroupItem key={group.group} store={store} group={group} />
      ))}
      {left > 0 && <li class="dim">{grouped(left)} more; tbdbg alerts --group-by lists all.</li>}
    </ul>
  );
}

function GroupItem({ store, group }: With<Uses, { group: AlertGroup }>) {
  const { first, num_tensors: tensors, count } = group;
  const name =
    first.op_name === undefined ? displayName(first.op_type) : tensorName(first.op_name, first.output_slot);
  return (
    <li>
      <Button
        class="alert-group wide pile"
        title={`First: ${name}, ${first.measured}`}
        act={() => store.focusFinding(first)}
      >
        <span class="line ends nowrap wide">
          <span class="ellipsis" title={group.group}>
            {shortPath(group.group)}
          </span>
          <b class={group.severity === "critical" ? "badge" : "badge badge-warning"}>{grouped(tensors)}</b>
        </span>
        <span class="dim ellipsis">
          {[
            group.severity,
            group.alert_types.map(wordsOf).join(", "),
            counted(count, "computation"),
            `first ${name}`,
          ].join(" · ")}
        </span>
      </Button>
    </li>
  );
}

/** The words of a rule: "DeadReluAlert" is "dead relu". */
function wordsOf(rule: string): string {
  if (rule === "InfNanAlert") return "NaN or ∞";
  return rule
    .replace(/Alert$/, "")
    .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toLowerCase();
}

/** A path without its folders; other words as they are. */
function shortPath(words: string): string {
  return /:\d+$/.test(words) ? (words.replaceAll("\\", "/").split("/").pop() ?? words) : words;
}
