/** A tensor in both runs, side by side: what it is, and its recorded numbers. */
import type { Side } from "../../api/comparison";
import { shown } from "../../base/loaded";
import { numberRows, placeRows, type SideRow } from "../../model/comparison";
import { lineName } from "../../model/origin";
import { titleOf } from "../../model/runs";
import type { Store } from "../../store/store";

interface SidesProps {
  readonly store: Store;
  readonly first: Side;
  readonly second: Side;
}

export function Sides({ store, first, second }: SidesProps) {
  const runs = shown(store.runs.value);
  const [run, other] = [store.run.value, store.comparison.other.value];
  return (
    <table class="sides" data-testid="difference-sides">
      <thead>
        <tr>
          <td />
          <th scope="col" class="run-first">
            {run && titleOf(runs, run)}
          </th>
          <th scope="col" class="run-second">
            {other && titleOf(runs, other)}
          </th>
        </tr>
      </thead>
      <tbody>
        <Rows rows={placeRows(first, second)} />
        <Lines first={first} second={second} />
        <Rows rows={numberRows(first.summary, second.summary)} isNumeric />
      </tbody>
    </table>
  );
}

function Rows({
  rows,
  isNumeric = false,
}: {
  readonly rows: readonly SideRow[];
  readonly isNumeric?: boolean;
}) {
  return (
    <>
      {rows.map(({ label, first, second, isApart }) => (
        <tr key={label} class={`${isApart ? "apart" : ""} ${isNumeric ? "numeric" : ""}`}>
          <th scope="row">
            {label}
            {isApart && <span class="unseen"> differs</span>}
          </th>
          <td>{first}</td>
          <td>{second}</td>
        </tr>
      ))}
    </>
  );
}

/** The lines of the user's own code, with their texts. */
function Lines({ first, second }: Pick<SidesProps, "first" | "second">) {
  if (first.source === undefined && second.source === undefined) return null;
  const isApart = first.source?.text !== second.source?.text;
  return (
    <tr class={isApart ? "apart" : ""}>
      <th scope="row">
        line
        {isApart && <span class="unseen"> differs</span>}
      </th>
      <td>
        <Line side={first} />
      </td>
      <td>
        <Line side={second} />
      </td>
    </tr>
  );
}

function Line({ side: { source } }: { readonly side: Side }) {
  if (source === undefined) return <>–</>;
  return (
    <span title={source.path}>
      {lineName(source)} {source.text !== undefined && <code>{source.text}</code>}
    </span>
  );
}
