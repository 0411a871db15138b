/** The folders and files of the logdir that cannot be read, with the reasons. */
import type { Logdir } from "../api/answers";

export function LogdirProblems({ logdir }: { readonly logdir: Logdir }) {
  return (
    <ul class="gaps anywhere" data-testid="logdir-problems">
      {logdir.problems.map(({ location, message }, i) => (
        <li key={i}>
          {location !== undefined && location !== "" && (
            <>
              <b class="caution">{location}</b>:{" "}
            </>
          )}
          {message}
        </li>
      ))}
    </ul>
  );
}
