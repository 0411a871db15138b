/** Views whose code is fetched when they are first drawn. */
import type { ComponentChildren, FunctionComponent } from "preact";
import { useState } from "preact/hooks";
import { sentence } from "../base/loaded";
import { useChange } from "./hooks";
import { Failure, Hint } from "./panel";
import type { With } from "./props";

/**
 * A view in place of one that is fetched; `waiting` draws what is there before, and why it cannot be fetched.
 *
 *     const Large = lazy(() => import("./large").then(({ Large }) => Large));
 */
export function lazy<P extends object>(
  load: () => Promise<FunctionComponent<P>>,
  waiting: (failure: string | undefined) => ComponentChildren = loadingOr,
): FunctionComponent<P & With<"track">> {
  let View: FunctionComponent<P> | undefined;
  return function Lazy(props) {
    const [, setLoaded] = useState(false);
    const [failure, setFailure] = useState<string>();
    useChange(() => {
      // Another one may have fetched it since this one was drawn.
      if (View !== undefined) return setLoaded(true);
      props.store
        .track(load())
        .then((loaded) => {
          View = loaded;
          setLoaded(true);
        })
        .catch((error: unknown) => setFailure(sentence(error)));
    }, []);
    return View === undefined ? <>{waiting(failure)}</> : <View {...props} />;
  };
}

function loadingOr(failure: string | undefined): ComponentChildren {
  if (failure === undefined) return <Hint>Loading …</Hint>;
  return <Failure message={`This part could not be loaded. ${failure}`} />;
}
