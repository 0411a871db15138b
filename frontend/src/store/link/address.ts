/** Keeps the address of the host's window equal to the link to what is shown, so that it can be copied. */

import type { ReadonlySignal } from "@preact/signals";
import { effect } from "@preact/signals";
import { isOurs, type Link, readLink, writeLink } from "../../model/link";
import type { RunFacts } from "../run/run";
import type { RunVerbs } from "./link";

/** What the address shows, and what follows it. */
interface Linked extends Pick<RunFacts, "run" | "seen">, RunVerbs {
  readonly link: ReadonlySignal<Link>;
}

export function linkNow(outer: Window): Link {
  return isOurs(outer.location.hash) ? readLink(outer.location.hash) : {};
}

/** Writes the address when the link changes or the tab is shown; reads it when the reader changes it. */
export function followAddress(store: Linked, outer: Window): () => void {
  let written = outer.location.hash;
  const onHash = () => {
    const hash = outer.location.hash;
    if (hash === written || !isOurs(hash)) return;
    written = hash;
    const link = readLink(hash);
    if (link.run !== undefined && link.run !== store.run.peek()) store.selectRun(link.run);
    void store.open(link);
  };
  const stop = effect(() => {
    const link = store.link.value;
    if (!store.seen.value || link.run === undefined || !isOurs(outer.location.hash)) return;
    const hash = writeLink(outer.location.hash, link);
    if (hash === outer.location.hash) return;
    written = hash;
    // A relative address would be resolved against the base element of the document.
    const { pathname, search } = outer.location;
    outer.history.replaceState(outer.history.state, "", `${pathname}${search}${hash}`);
  });
  outer.addEventListener("hashchange", onHash);
  return () => {
    stop();
    outer.removeEventListener("hashchange", onHash);
  };
}
