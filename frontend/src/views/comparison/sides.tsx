/** A tensor in both runs, side by side: its recorded numbers, and what it is. */
import type { Side } from "../../api/comparison";
import { shown } from "../../base/loaded";
import { numberRows, placeRows, type SideRow } from "../../model/comparison";
import { lineName } from "../../model/origin";
import { titleOf } from "../../model/runs";
import type { With } from "../props";

type SidesProps = { first: Side; second: Side };

export function Sides({ store, first, second }: With<"comparison" | "run" | "runs", SidesProps>) {
  const runs = shown(store.runs.value);
  const [run, other] = [store.run.value, store.comparison.other.value];
  return (
    <table class="sides wide" data-testid="difference-sides">
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
        <Rows rows={numberRows(first.summary, second.summary)} />
        <Lines first={first} second={second} />
        <Rows rows={placeRows(first, second)} />
      </tbody>
    </table>
  );
}

function Rows({ rows }: { readonly rows: readonly SideRow[] }) {
  return (
    <>
      {rows.map(({ label, first, second, isApart }) => (
        <tr key={label} class={isApart ? "apart" : ""}>
          <Label text={label} isApart={isApart} />
          <td>{first}</td>
          <td>{second}</td>
        </tr>
      ))}
    </>
  );
}

function Label({ text, isApart }: { readonly text: string; readonly isApart: boolean }) {
  return (
    <th scope="row">
      {text}
      {isApart && (
        <>
          <b aria-hidden="true"> ≠</b>
          <span class="unseen"> differs</span>
        </>
      )}
    </th>
  );
}

/** The lines of the user's own code, with their texts. */
function Lines({ first, second }: Pick<SidesProps, "first" | "second">) {
  if (first.source === undefined && second.source === undefined) return null;
  const isApart = first.source?.text !== second.source?.text;
  return (
    <tr class={isApart ? "apart" : ""}>
      <Label text="line" isApart={isApart} />
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
