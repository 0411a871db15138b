/** The entry point of the page: TensorBoard imports this module in its iframe and calls render(). */
import { effect } from "@preact/signals";
import { render as draw, h } from "preact";
import { makeClient } from "./api/fetch";
import { makeApi } from "./api/routes";
import {
  nameDocument,
  outerWindow,
  replaceHash,
  takeFocus,
  titleWriter,
  watchReturn,
  watchShown,
  watchTheme,
} from "./base/host";
import { browserTimer } from "./store/common/activity";
import { createAccess } from "./store/link/access";
import { followAddress, linkNow } from "./store/link/address";
import { createStore, type Store } from "./store/store";
import { App } from "./views/app";
import { setGeometry } from "./views/geometry";
import styles from "./views/styles/index.css?inline";

export function render(): void {
  nameDocument("Debugger");
  addStyles();
  setGeometry(document.documentElement);
  const outer = outerWindow();
  const access = createAccess();
  // Before the link is read: others see the address, and copy it.
  const stopTaking = replaceHash(outer, access.takeFrom);
  const link = linkNow(outer);
  const api = makeApi(makeClient((url, init) => fetch(url, init), access));
  const store = createStore(api, browserTimer, access);
  watchTheme((dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  });
  const stops = [
    stopTaking,
    store.start(link),
    followAddress(store, outer),
    watchShown((isShown) => {
      store.setSeen(isShown);
      if (isShown) takeFocus();
    }),
    watchReturn(store.lookAgain),
    followTitle(store),
    tellIdle(store),
  ];
  window.addEventListener("pagehide", () => {
    for (const stop of stops) stop();
  });
  const root = document.createElement("div");
  document.body.append(root);
  draw(h(App, { store }), root);
}

/** Keeps the title of the page; the host has its own when the page is left. */
function followTitle(store: Store): () => void {
  const write = titleWriter();
  const stop = effect(() => write(store.title.value, store.seen.value));
  return () => {
    stop();
    write(store.title.peek(), false);
  };
}

/** Adds a style element: the address of a style sheet would depend on where TensorBoard serves the plugin. */
function addStyles(): void {
  const element = document.createElement("style");
  element.textContent = styles;
  document.head.append(element);
}

/** Sets `data-idle` to "true" when no request is running and all answers are drawn; tests wait for it. */
function tellIdle(store: Store): () => void {
  let waiting = 0;
  const tell = (idle: boolean) => {
    document.documentElement.dataset.idle = String(idle);
  };
  return effect(() => {
    const noRun = store.run.value === undefined;
    const answered = noRun ? store.runs.value.kind !== "loading" : store.status.value !== undefined;
    // A command that waits for its key waits for the reader.
    const idle = answered && (!store.busy.value || store.access.question.value !== undefined);
    cancelAnimationFrame(waiting);
    if (!idle) tell(false);
    else waiting = requestAnimationFrame(() => (waiting = requestAnimationFrame(() => tell(true))));
  });
}
