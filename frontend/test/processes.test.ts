import { describe, expect, test } from "vitest";
import { countedProcesses, processOf, processWords } from "../src/model/processes";

describe("the processes of a run", () => {
  const together = ["vm (process 7)", "vm (process 8) (0)", "vm (process 8) (1)"];

  test("are hosts if each has a machine of its own", () => {
    expect(countedProcesses(["a", "b"])).toBe("2 hosts");
    expect(processWords(["a", "b"])).toEqual({ label: "Host", all: "All hosts" });
  });

  test("are processes if two are on one machine", () => {
    expect(countedProcesses(together)).toBe("3 processes");
    expect(processWords(together)).toEqual({ label: "Process", all: "All processes" });
  });

  test("are named by an alert if there are several", () => {
    expect(processOf(together, "vm (process 7)")).toBe("vm (process 7)");
    expect(processOf(["vm"], "vm")).toBeUndefined();
  });
});
