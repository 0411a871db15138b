/**
 * The section of the long lists: graph executions or executions. Its code is fetched beside the first answers,
 * because most of it is for what a reader does later.
 */
import { lazy } from "./lazy";
import type { ListView } from "./lists/list_view";
import { Failure, Hint, Panel } from "./panel";
import type { With } from "./props";

const loading = import("./lists/list_view");
// Who draws the section hears of a failure.
loading.catch(() => {});

export const ListSection = lazy<With<typeof ListView>>(
  async () => (await loading).ListView,
  (failure) => (
    <Panel title="Graph executions" className="graph-executions">
      {failure === undefined ? (
        <Hint>Loading …</Hint>
      ) : (
        <Failure message={`The lists could not be loaded. ${failure}`} />
      )}
    </Panel>
  ),
);
