/** The diagnoses of the first cause and of the focus. */

import type { Alert } from "../../api/answers";
import type { Api, DiagnosisSubject } from "../../api/routes";
import type { ValueRef } from "../../api/values";
import type { RunName } from "../../base/ids";
import { fromWire, isBad } from "../../model/health";
import { graphExecutionRow } from "../../model/rows";
import { mayHoldValue } from "../../model/values/value_ref";
import type { Deps } from "../deps";
import type { Facts } from "../facts";
import { type ByKey, both, ready } from "./keyed";
import type { Structure } from "./structure";

export function createDiagnoses({ api, facts }: Deps, byKey: ByKey, structure: Structure) {
  /**
   * The diagnosis of the first cause, whichever alerts are shown. The generation is a key: it may change the
   * answer.
   */
  const firstBad = byKey(
    () => {
      const { num_alerts = 0, generation } = facts.status.value ?? {};
      return both(facts.run.value, num_alerts > 0 ? generation : undefined);
    },
    ([name], signal) => api.diagnosis(name, undefined, signal),
  );
  return {
    firstBad,
    /** The value of the first cause; undefined when its record holds no elements. */
    firstBadValue: byKey(
      () => both(facts.run.value, ready(firstBad.value)?.alert),
      ([name, alert]) => valueOfAlert(api, name, alert),
    ),
    /** The diagnosis of the op or execution in focus; undefined when none of its outputs is bad. */
    explanation: byKey(
      () => both(facts.run.value, badSubject(facts, structure)),
      ([name, subject], signal) => api.diagnosis(name, subject, signal),
    ),
  };
}

function badSubject(facts: Facts, { op, neighbourhood }: Structure): DiagnosisSubject | undefined {
  if (ready(neighbourhood.value)?.outputs.some(isBad) !== true) return undefined;
  if (facts.subject.value === "op")
    return op.value && { graph_id: op.value.graph, op_name: op.value.opName, at: op.value.trace };
  return facts.execution.value === undefined ? undefined : { execution: facts.execution.value };
}

/** The value that an alert is about; undefined when its record holds no elements. */
async function valueOfAlert(api: Api, run: RunName, alert: Alert): Promise<ValueRef | undefined> {
  const { graph_execution_trace_index: trace, execution_index: execution, output_slot: slot } = alert;
  if (trace !== undefined) {
    const page = await api.graphExecutionRows(run, trace, trace + 1, false);
    const isKept = page.end > page.begin && mayHoldValue(graphExecutionRow(page, 0).summary);
    return isKept ? { kind: "graph_execution", index: trace } : undefined;
  }
  if (execution === undefined) return undefined;
  const { outputs } = await api.execution(run, execution);
  return mayHoldValue(fromWire(outputs[slot])) ? { kind: "execution", index: execution, slot } : undefined;
}
