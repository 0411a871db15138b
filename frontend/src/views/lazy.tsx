/** Views that are fetched when they are first shown, so that the page begins with less. */
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { sentence } from "../base/loaded";
import { Failure, Hint } from "./panel";
import type { With } from "./props";

/** A view in place of one that `load` fetches; it is drawn once it is there. */
export function lazy<P>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P & With<"track">> {
  let fetched: FunctionComponent<P> | undefined;
  return function Lazy(props: P & With<"track">) {
    const [View, setView] = useState<FunctionComponent<P> | undefined>(() => fetched);
    const [failure, setFailure] = useState<string>();
    useEffect(() => {
      if (View !== undefined) return;
      props.store
        .track(load())
        .then((view) => {
          fetched = view;
          setView(() => view);
        })
        .catch((error: unknown) => setFailure(sentence(error)));
    }, []);
    if (failure !== undefined) return <Failure message={`This part could not be loaded. ${failure}`} />;
    return View === undefined ? <Hint>Loading …</Hint> : <View {...props} />;
  };
}
