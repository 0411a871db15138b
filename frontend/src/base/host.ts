/**
 * Access to the page around the plugin. TensorBoard shows the plugin in an iframe of its own origin. A
 * notebook may show it in an iframe of another origin, and `npm run dev` shows it alone; then the plugin's
 * own window is used.
 */

/** The window whose address and theme the reader sees. */
export function outerWindow(): Window {
  try {
    // Throws when the parent is of another origin.
    void window.parent.location.hash;
    return window.parent;
  } catch {
    return window;
  }
}

/** Names the document and its frame, because TensorBoard does not. */
export function nameDocument(title: string): void {
  document.documentElement.lang = "en";
  document.title = title;
  try {
    if (window.frameElement !== null) (window.frameElement as HTMLIFrameElement).title = title;
  } catch {
    // A frame of another origin keeps the title that its page gave it.
  }
}

/**
 * Returns what titles the document, and the host's window while the tab is shown. The host keeps a title of its
 * own while another tab is.
 */
export function titleWriter(): (title: string, isShown: boolean) => void {
  const outer = outerWindow();
  let theirs = outer.document.title;
  let ours: string | undefined;
  return (title, isShown) => {
    document.title = title;
    if (outer === window) return;
    // The host may have changed its title since.
    if (outer.document.title !== ours) theirs = outer.document.title;
    ours = isShown ? title : undefined;
    outer.document.title = ours ?? theirs;
  };
}

/**
 * Calls back now and when the theme of the host or of the system changes; returns a function that stops it.
 */
export function watchTheme(onTheme: (dark: boolean) => void): () => void {
  const outer = outerWindow();
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const inHost = outer !== window;
  const report = () => onTheme(inHost ? outer.document.body.classList.contains("dark-mode") : system.matches);
  const observer = new MutationObserver(report);
  if (inHost) observer.observe(outer.document.body, { attributes: true, attributeFilter: ["class"] });
  else system.addEventListener("change", report);
  report();
  return () => {
    observer.disconnect();
    system.removeEventListener("change", report);
  };
}

/** Calls back when the tab is shown or hidden. The host keeps a hidden tab mounted, without a height. */
export function watchShown(onShown: (isShown: boolean) => void): () => void {
  const outer = outerWindow() as Window & typeof globalThis;
  // A frame that is not drawn sees no change; the host does.
  const element = (outer !== window && window.frameElement) || document.documentElement;
  const observer = new outer.ResizeObserver(() => onShown(element.clientHeight > 0));
  observer.observe(element);
  return () => observer.disconnect();
}

/**
 * Takes the keyboard focus for the plugin's frame, unless the reader works elsewhere: in another window, in
 * another frame, or with an element of the host that shows the focus, such as a field or a button reached by
 * the keyboard.
 */
export function takeFocus(): void {
  const outer = outerWindow();
  const held = outer.document.activeElement;
  const isElsewhere = held !== null && (held.tagName === "IFRAME" || held.matches(":focus-visible"));
  if (outer !== window && outer.document.hasFocus() && !isElsewhere) window.focus();
}

/**
 * Calls back when the reader comes back to the window or clicks in the host, because the host does not report
 * a press of its reload button to a plugin in a frame. Returns a function that stops it.
 */
export function watchReturn(onReturn: () => void): () => void {
  const outer = outerWindow();
  const stop = new AbortController();
  const { signal } = stop;
  const onVisible = () => {
    if (document.visibilityState === "visible") onReturn();
  };
  document.addEventListener("visibilitychange", onVisible, { signal });
  outer.addEventListener("focus", onReturn, { signal });
  if (outer !== window) outer.document.addEventListener("click", onReturn, { signal, capture: true });
  return () => stop.abort();
}

/** Where the browser keeps a value: for later visits, or until its tab is closed. */
type Keeping = "localStorage" | "sessionStorage";

/** A value that was kept earlier; undefined when there is none, or when the browser keeps nothing. */
export function remembered(key: string, keeping: Keeping = "localStorage"): string | undefined {
  try {
    return window[keeping].getItem(`tb_debugger_plugin.${key}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export function remember(key: string, value: string, keeping: Keeping = "localStorage"): void {
  try {
    window[keeping].setItem(`tb_debugger_plugin.${key}`, value);
  } catch {
    // A private window keeps nothing: what is loaded later has the default.
  }
}

/** Calls back with the hash of the reader's address, now and whenever it changes, to replace it. */
export function replaceHash(outer: Window, replaced: (hash: string) => string | undefined): () => void {
  const onHash = () => {
    const hash = replaced(outer.location.hash);
    if (hash === undefined) return;
    // A relative address would be resolved against the base element of the document.
    const { pathname, search } = outer.location;
    outer.history.replaceState(outer.history.state, "", `${pathname}${search}${hash}`);
  };
  outer.addEventListener("hashchange", onHash);
  onHash();
  return () => outer.removeEventListener("hashchange", onHash);
}
