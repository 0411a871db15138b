/** The diagnoses of the first cause and of the focus. */
import type { DiagnosisSubject } from "../../api/routes";
import { isBad } from "../../model/health";
import type { Deps } from "../deps";
import type { Facts } from "../facts";
import { type ByKey, both, ready } from "./keyed";
import type { Structure } from "./structure";

export function createDiagnoses({ api, facts }: Deps, byKey: ByKey, structure: Structure) {
  return {
    /**
     * The diagnosis of the first cause, whichever alerts are shown. The generation is a key: it may change
     * the answer.
     */
    firstBad: byKey(
      () => {
        const { num_alerts = 0, generation } = facts.status.value ?? {};
        return both(facts.run.value, num_alerts > 0 ? generation : undefined);
      },
      ([name], signal) => api.diagnosis(name, undefined, signal),
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
