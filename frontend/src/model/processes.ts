/** What the processes of a run are called: hosts, or processes where two are on one machine. */
import { counted } from "../base/text";

/** "vm (process 7290)" -> "vm" */
const machineOf = (name: string) => name.replace(/( \((process )?\d+\))+$/, "");

const areProcesses = (names: readonly string[]) => new Set(names.map(machineOf)).size < names.length;

/** "2 hosts" or "2 processes" */
export function countedProcesses(names: readonly string[]): string {
  return areProcesses(names) ? counted(names.length, "process", "processes") : counted(names.length, "host");
}

/** The words of the filter by host. */
export function processWords(names: readonly string[]): { readonly label: string; readonly all: string } {
  return areProcesses(names)
    ? { label: "Process", all: "All processes" }
    : { label: "Host", all: "All hosts" };
}

/** The process of an alert, where a run has several. */
export function processOf(names: readonly string[], name: string | undefined): string | undefined {
  return names.length > 1 ? name : undefined;
}
