/** The list of what is not recorded: a line for each reason, with the names; long lists are folded. */
import { counted } from "../base/text";
import type { Gap, Missing } from "../model/gaps";
import { displayName } from "../model/names";
import { Button } from "./panel";
import type { With } from "./props";

const FEW_GAPS = 4;
const FEW_NAMES = 5;

export function GapList({ store, gaps }: With<typeof Gaps, { gaps: readonly Gap[] }>) {
  const [first, rest] = [gaps.slice(0, FEW_GAPS), gaps.slice(FEW_GAPS)];
  return (
    <>
      <Gaps store={store} gaps={first} />
      {rest.length > 0 && (
        <details class="more">
          <summary>{counted(rest.length, "more reason")}</summary>
          <Gaps store={store} gaps={rest} />
        </details>
      )}
    </>
  );
}

function Gaps({ store, gaps }: With<typeof Names, { gaps: readonly Gap[] }>) {
  return (
    <ul class="gaps anywhere">
      {gaps.map(({ title, message, missing, hosts, severe }) => (
        <li key={`${title} ${message}`} data-testid="not-recorded">
          <b class={severe ? "bad" : "caution"}>{title}</b>
          {hosts.length > 0 && <span class="dim"> on {hosts.join(", ")}</span>}: {message}
          <Names store={store} missing={missing} />
        </li>
      ))}
    </ul>
  );
}

function Names({ store, missing }: With<typeof Name, { missing: readonly Missing[] }>) {
  if (missing.length === 0) return null;
  const [first, rest] = [missing.slice(0, FEW_NAMES), missing.slice(FEW_NAMES)];
  return (
    <>
      <span class="gap-names wrap">
        {first.map((missing, i) => (
          <Name key={i} store={store} missing={missing} />
        ))}
      </span>
      {rest.length > 0 && (
        <details class="more">
          <summary>and {rest.length} more</summary>
          <span class="gap-names wrap">
            {rest.map((missing, i) => (
              <Name key={i} store={store} missing={missing} />
            ))}
          </span>
        </details>
      )}
    </>
  );
}

/** A name, with a link to the calls of its graph when that is recorded. */
function Name({ store, missing: { name, graph } }: With<"focusGraph", { missing: Missing }>) {
  if (graph === undefined) return <code title={name}>{displayName(name)}</code>;
  return (
    <Button title={`Go to a call of ${name}`} act={() => void store.focusGraph(graph)}>
      <code>{displayName(name)}</code>
    </Button>
  );
}
