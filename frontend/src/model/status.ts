/** What a status says about the parts of a run. */
import type { Status } from "../api/answers";

/**
 * A text that changes whenever rows of the list of executions do: they are added at its end, except in a
 * circular buffer, and may get the names of graphs and ops later.
 */
export function executionsOf(status: Status): string {
  const { generation, described, num_executions: count, circular_buffer_size: ring } = status;
  return ring === undefined && described !== undefined ? `${count} ${described}` : `at ${generation}`;
}
