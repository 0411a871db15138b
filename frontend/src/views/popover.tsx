/** A button that opens a box. Escape and a click elsewhere close it, and the focus goes back. */
import type { ComponentChildren, ComponentProps, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useClickElsewhere } from "./hooks";

interface PopoverProps {
  readonly label: ComponentChildren;
  /** Of the box, when the label is a sign. */
  readonly name?: string;
  readonly className: string;
  readonly title: string;
  readonly isOff?: boolean;
  /** Whether the box is over the page, where no panel cuts it. */
  readonly isOver?: boolean;
  readonly testId: string;
  readonly children: (close: () => void) => ComponentChildren;
}

export function Popover(props: PopoverProps) {
  const { label, name, className, title, isOff = false, isOver = false, testId, children } = props;
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <span class="popover">
      <button
        ref={button}
        type="button"
        class={className}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        aria-disabled={isOff}
        aria-label={name}
        title={title}
        data-testid={testId}
        onClick={() => !isOff && setOpen(!isOpen)}
      >
        {label}
      </button>
      {isOpen && !isOff && (
        <Box name={name ?? String(label)} anchor={button} isOver={isOver} close={close}>
          {children(close)}
        </Box>
      )}
    </span>
  );
}

interface BoxProps {
  readonly name: string;
  readonly anchor: RefObject<HTMLElement | null>;
  readonly isOver: boolean;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

function Box({ name, anchor, isOver, close, children }: BoxProps) {
  const content = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    content.current?.querySelector<HTMLElement>("[autofocus], button, select, input, a")?.focus();
  }, []);
  useClickElsewhere(() => anchor.current?.parentElement, close);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  const dialog = { role: "dialog", "aria-label": name, onKeyDown } as const;
  if (!isOver)
    return (
      <div ref={content} class="popover-box" {...dialog}>
        {children}
      </div>
    );
  return (
    <Over anchor={anchor} class="menu-box" {...dialog}>
      <div ref={content} class="pile">
        {children}
      </div>
    </Over>
  );
}

interface OverProps extends Omit<ComponentProps<"div">, "ref"> {
  readonly anchor: RefObject<HTMLElement | null>;
}

const MARGIN = 4;

/** A box over the page below what opens it. It is in the browser's top layer, which nothing cuts. */
export function Over({ anchor, children, class: look = "", ...rest }: OverProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const place = () => {
      if (box.current !== null && anchor.current !== null) placeBelow(box.current, anchor.current);
    };
    box.current?.showPopover();
    place();
    window.addEventListener("resize", place);
    document.addEventListener("scroll", place, true);
    return () => {
      window.removeEventListener("resize", place);
      document.removeEventListener("scroll", place, true);
    };
  }, []);
  return (
    <div ref={box} popover="manual" class={`over ${look}`} {...rest}>
      {children}
    </div>
  );
}

function placeBelow(box: HTMLElement, anchor: HTMLElement): void {
  const { left, top, bottom } = anchor.getBoundingClientRect();
  const most = document.documentElement.clientWidth - box.offsetWidth - MARGIN;
  const below = window.innerHeight - bottom - 2 * MARGIN;
  const isBelow = below >= Math.min(box.scrollHeight, 200) || below >= top;
  box.style.left = `${Math.max(MARGIN, Math.min(left, most))}px`;
  box.style.maxHeight = `${(isBelow ? below : top) - MARGIN}px`;
  box.style.top = isBelow ? `${bottom + 2}px` : "";
  box.style.bottom = isBelow ? "" : `${window.innerHeight - top + 2}px`;
}
