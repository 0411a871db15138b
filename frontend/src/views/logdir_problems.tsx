/** What in the logdir could not be looked at, place by place. */
import type { Logdir } from "../api/answers";

export function LogdirProblems({ logdir }: { readonly logdir: Logdir }) {
  return (
    <ul class="gaps" data-testid="logdir-problems">
      {logdir.problems.map(({ place, message }, i) => (
        <li key={i}>
          {place !== undefined && place !== "" && (
            <>
              <b class="caution">{place}</b>:{" "}
            </>
          )}
          {message}
        </li>
      ))}
    </ul>
  );
}
