/** The alert rules on the page: thresholds that the reader moves, the counts that follow, and what is meant. */
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Finding, Rule, RuleParameter, RunVerdict } from "../../api/answers";
import type { Grouping } from "../../api/rules";
import { type Loaded, sentence, shown } from "../../base/loaded";
import { queryOf, ruleQuery, type Thresholds, withThreshold } from "../../model/rules";
import { setter, type Timer } from "../common/activity";
import type { ListFacts } from "../lists/run_lists";
import type { RunFacts } from "../run/run";
import { both, createByKey, type Deps } from "../run/run";
import type { AlertFacts } from "./verbs";

/** Seconds without a move after which the counts follow a slider. */
const SETTLED_S = 0.12;

export function createRules(deps: Deps<RunFacts & AlertFacts>, timer: Timer) {
  const facts = createRuleFacts();
  return { ...facts, ...createAnswers(deps, facts), ...createRuleVerbs(deps, facts, timer) };
}

function createRuleFacts() {
  return {
    /** Whether the section is open; a closed one requests nothing. */
    isOpen: signal(false),
    /** The thresholds where the sliders stand. */
    thresholds: signal<Thresholds>(new Map()),
    /** The thresholds that are asked. */
    settled: signal<Thresholds>(new Map()),
    /** Rules that the reader asks beside the recommended ones. */
    asked: signal<ReadonlySet<string>>(new Set()),
    /** The rule whose alerts are listed. */
    chosen: signal<string | undefined>(undefined),
    /** The position of the alert of that rule which is explained. */
    explained: signal<number | undefined>(undefined),
    /** Why the last alert could not be called meant. */
    failure: signal<string | undefined>(undefined),
  };
}

type RuleFacts = ReturnType<typeof createRuleFacts>;

function createAnswers(deps: Deps<RunFacts & AlertFacts>, answered: RuleFacts) {
  const { isOpen, settled, asked, chosen, explained } = answered;
  const { api, facts } = deps;
  const byKey = createByKey(deps);
  const key = () =>
    isOpen.value
      ? both(facts.run.value, `${facts.status.value?.generation ?? ""} ${facts.meant.value}`)
      : undefined;
  const chosenQuery = () => (chosen.value === undefined ? undefined : queryOf(settled.value, chosen.value));
  return {
    rules: byKey(
      () => both(key(), ruleQuery(settled.value, asked.value)),
      ([[run], query], abort) => api.rules(run, query, abort),
    ),
    findings: byKey(
      () => both(key(), chosenQuery()),
      ([[run], query], abort) => api.findings(run, query, abort),
    ),
    explanation: byKey(
      () => both(both(key(), chosenQuery()), explained.value),
      ([[[run], query], index], abort) => api.explained(run, query, index, abort),
    ),
  };
}

function createRuleVerbs(deps: Deps<RunFacts & AlertFacts>, facts: RuleFacts, timer: Timer) {
  const { isOpen, thresholds, settled, asked, chosen, explained } = facts;
  let cancel: (() => void) | undefined;
  function ask(rule: Rule): void {
    if (!rule.recommended) asked.value = new Set([...asked.peek(), rule.alert_type]);
  }
  return {
    setOpen: setter(isOpen),
    move(rule: Rule, parameter: RuleParameter, value: string): void {
      batch(() => {
        thresholds.value = withThreshold(thresholds.peek(), rule, parameter, value);
        ask(rule);
      });
      cancel?.();
      cancel = timer.after(SETTLED_S, () => {
        batch(() => {
          settled.value = thresholds.peek();
          explained.value = undefined;
        });
      });
    },
    /** Lists the alerts of a rule, which asks it; again to close the list. */
    choose(rule: Rule): void {
      batch(() => {
        ask(rule);
        chosen.value = chosen.peek() === rule.alert_type ? undefined : rule.alert_type;
        explained.value = undefined;
      });
    },
    /** Explains an alert of the list by its position; again to close the explanation. */
    explain(index: number): void {
      explained.value = explained.peek() === index ? undefined : index;
    },
    allow: (finding: Finding, reason: string) => allow(deps, facts, finding, reason),
  };
}

async function allow(
  { api, facts, activity }: Deps<RunFacts & AlertFacts>,
  { failure }: RuleFacts,
  finding: Finding,
  reason: string,
): Promise<void> {
  const run = facts.run.peek();
  if (run === undefined) return;
  const what = finding.op_name === undefined ? { op_type: finding.op_type } : { op_name: finding.op_name };
  try {
    await activity.track(api.allow(run, { rule: finding.alert_type, ...what, reason }));
    batch(() => {
      failure.value = undefined;
      facts.meant.value = facts.meant.peek() + 1;
    });
  } catch (error) {
    failure.value = sentence(error);
  }
}

export type Rules = ReturnType<typeof createRules>;

/** Alerts by what they have in common; of one rule if the reader chose it. */
export function createAlertGroups(
  deps: Deps<RunFacts & AlertFacts & ListFacts>,
  verdict: ReadonlySignal<Loaded<RunVerdict> | undefined>,
) {
  const { api, facts } = deps;
  const kind = computed(() => shown(verdict.value)?.kind);
  /** What the reader chose; where no value is bad, the groups are what there is to see. */
  const chosen = signal<boolean | undefined>(undefined);
  const isOpen = computed(() => chosen.value ?? kind.value === "rules");
  const chosenBy = signal<Grouping | undefined>(undefined);
  const by = computed(() => chosenBy.value ?? (kind.value === "rules" ? "layer" : "cause"));
  const key = () => {
    const { generation, num_alerts = 0 } = facts.status.value ?? {};
    const isWanted = isOpen.value || num_alerts > 0;
    return isWanted ? both(facts.run.value, `${generation ?? ""} ${facts.meant.value}`) : undefined;
  };
  return {
    /** Whether the list of groups is open. The totals are said of each run with alerts. */
    isOpen,
    setOpen: setter(chosen),
    by,
    setBy: setter(chosenBy),
    groups: createByKey(deps)(
      () => both(key(), { by: by.value, rule: facts.alertType.value }),
      ([[run], { by, rule }], abort) => api.alertGroups(run, by, rule, abort),
      2,
    ),
  };
}
