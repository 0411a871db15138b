/** The places in the logdir that cannot be read, with the reasons. */
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
