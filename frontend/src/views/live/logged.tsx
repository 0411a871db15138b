/** The last hits of a log point, newest first: when, in which call and step, and the numbers of the tensor. */
import type { LoggedHit } from "../../api/live";
import { clock, grouped } from "../../base/text";
import { measured } from "../../model/live/tensor_rows";
import { displayName } from "../../model/names";
import { NumericsWords, Verdict } from "../numbers";

const HEADS = ["time", "call", "step", "what", "health", "numbers"];

export function Logged({ hits, words }: { readonly hits: readonly LoggedHit[]; readonly words: string }) {
  if (hits.length === 0) return <span class="dim breakpoint-log">No hit is logged yet.</span>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys
    <aside class="breakpoint-log scroll" aria-label={`Hits of ${words}, newest first`} tabIndex={0}>
      <table class="lp-calls wide">
        <thead>
          <tr>
            {HEADS.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...hits].reverse().map((hit, i) => (
            <Hit key={hits.length - i} hit={hit} />
          ))}
        </tbody>
      </table>
    </aside>
  );
}

function Hit({ hit: { wall_time, call, step, name, numbers } }: { readonly hit: LoggedHit }) {
  const summary = numbers.length > 0 ? measured(numbers) : undefined;
  return (
    <tr data-testid="logged-hit">
      <td class="dim">{clock(wall_time)}</td>
      <td class="num">{grouped(call)}</td>
      <td class="num">{grouped(step)}</td>
      <td title={name}>{displayName(name)}</td>
      <td>{summary && <Verdict summary={summary} />}</td>
      <td>
        <NumericsWords summary={summary} />
      </td>
    </tr>
  );
}
