/** The frame around each section, and the bars between them that can be dragged. */
import type { ComponentChildren, ComponentProps } from "preact";
import { useRef } from "preact/hooks";
import { remember, remembered } from "../base/host";
import { drag } from "./hooks";

interface PanelProps {
  readonly title: string;
  /** Next to the title: a count, a path. */
  readonly note?: ComponentChildren;
  /** At the right end of the header. */
  readonly tools?: ComponentChildren;
  readonly className: string;
  readonly children: ComponentChildren;
}

export function Panel({ title, note, tools, className, children }: PanelProps) {
  return (
    <section class={`panel ${className}`} aria-label={title}>
      <header class="panel-head">
        <h2>{title}</h2>
        <div class="panel-note">{note}</div>
        {tools}
      </header>
      {children}
    </section>
  );
}

/** A line in place of missing content, with the reason. */
export function Hint({ children }: { readonly children: ComponentChildren }) {
  return <p class="hint">{children}</p>;
}

export function Failure({ message }: { readonly message: string }) {
  return (
    <p class="hint failure" role="alert">
      {message}
    </p>
  );
}

interface ButtonProps extends Omit<ComponentProps<"button">, "onClick"> {
  readonly act: (event: MouseEvent) => unknown;
  /** What stands on it, if that is only words. */
  readonly text?: ComponentChildren;
  readonly testId?: string | undefined;
}

/** A button in words: a link in a text where no class says otherwise. */
export function Button({ act, text, testId, class: look = "link", children = text, ...rest }: ButtonProps) {
  return (
    <button type="button" class={look} data-testid={testId} onClick={act} {...rest}>
      {children}
    </button>
  );
}

interface IconButtonProps {
  readonly label: string;
  /** The tooltip, where it differs from the label. */
  readonly title?: string;
  readonly text: string;
  readonly off?: boolean;
  readonly act: () => void;
  readonly testId?: string;
}

/** A small button with a sign in place of words. */
export function IconButton({ label, title = label, text, off, act, testId }: IconButtonProps) {
  return (
    <Button
      class="icon"
      title={title}
      aria-label={label}
      disabled={off}
      testId={testId}
      act={act}
      text={text}
    />
  );
}

interface SplitterProps {
  /** The CSS variable that holds the size in pixels. */
  readonly name: string;
  readonly label: string;
  /** "x" when dragging sideways changes the size. */
  readonly axis: "x" | "y";
  /** 1 when dragging right or down makes it larger, -1 when smaller. */
  readonly sign: 1 | -1;
  readonly initial: () => number;
  readonly least: number;
}

const STEP = 24;

/** Restores the sizes of the last visit. */
export function restoreSizes(root: HTMLElement, names: readonly string[]): void {
  for (const name of names) {
    const size = Number(remembered(name));
    if (size > 0) root.style.setProperty(`--${name}`, `${size}px`);
  }
}

export function Splitter({ name, label, axis, sign, initial, least }: SplitterProps) {
  const bar = useRef<HTMLDivElement>(null);
  const size = () => Number.parseFloat(root().style.getPropertyValue(`--${name}`)) || initial();
  const root = () => bar.current?.closest<HTMLElement>(".app") ?? document.body;
  const set = (pixels: number) => {
    const most = (axis === "x" ? root().clientWidth : root().clientHeight) * 0.75;
    const next = Math.round(Math.max(least, Math.min(most, pixels)));
    root().style.setProperty(`--${name}`, `${next}px`);
    bar.current?.setAttribute("aria-valuenow", String(next));
    remember(name, String(next));
  };
  const press = (event: PointerEvent) => {
    event.preventDefault();
    const from = axis === "x" ? event.clientX : event.clientY;
    const before = size();
    drag(event, (move) => set(before + sign * ((axis === "x" ? move.clientX : move.clientY) - from)));
  };
  const key = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(size() + by * sign * STEP);
  };
  return (
    <div
      ref={bar}
      class={`splitter splitter-${axis}`}
      role="separator"
      aria-label={label}
      aria-orientation={axis === "x" ? "vertical" : "horizontal"}
      aria-valuenow={Math.round(initial())}
      aria-valuemin={least}
      aria-valuemax={10000}
      tabIndex={0}
      onPointerDown={press}
      onKeyDown={key}
    />
  );
}
