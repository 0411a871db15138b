/** Keeps the address of the host's window equal to the link to what is shown, so that it can be copied. */

import type { ReadonlySignal } from "@preact/signals";
import { effect, untracked } from "@preact/signals";
import { isOurs, keyIn, type Link, readLink, writeLink } from "../../model/link";
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
  /** The hash that was written or read last; any other is the reader's. */
  let known = outer.location.hash;
  const read = () => {
    const hash = outer.location.hash;
    if (hash === known || !isFree(hash)) return;
    known = hash;
    const link = readLink(hash);
    if (link.run !== undefined && link.run !== store.run.peek()) store.selectRun(link.run);
    void store.open(link);
  };
  const stop = effect(() => {
    if (!store.seen.value) return;
    // The event of a hash that the reader has just set is still on its way.
    untracked(read);
    const link = store.link.value;
    if (link.run === undefined || !isFree(outer.location.hash)) return;
    const hash = writeLink(known, link);
    if (hash === known) return;
    // A relative address would be resolved against the base element of the document.
    const { pathname, search } = outer.location;
    outer.history.replaceState(outer.history.state, "", `${pathname}${search}${hash}`);
    // A browser ignores one of very many writes in a short time.
    known = outer.location.hash;
  });
  outer.addEventListener("hashchange", read);
  return () => {
    stop();
    outer.removeEventListener("hashchange", read);
  };
}

/** Whether a hash may be read and replaced: one with a key stays until its event, when the key is taken. */
function isFree(hash: string): boolean {
  return isOurs(hash) && keyIn(hash) === undefined;
}
