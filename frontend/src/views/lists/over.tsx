/** A box over the page below what opens it. It is in the browser's top layer, which nothing cuts. */
import type { ComponentChildren, ComponentProps, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useClickElsewhere } from "../hooks";

interface OverProps extends Omit<ComponentProps<"div">, "ref"> {
  readonly anchor: RefObject<HTMLElement | null>;
}

const MARGIN = 4;

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

interface MenuProps {
  readonly label: string;
  readonly title: string;
  readonly testId: string;
  readonly children: (close: () => void) => ComponentChildren;
}

/** A button that opens a box. Escape and a click elsewhere close it, and the keyboard goes back. */
export function Menu({ label, title, testId, children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <span class="menu">
      <button
        ref={button}
        type="button"
        class="small"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        title={title}
        data-testid={testId}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </button>
      {isOpen && (
        <MenuBox name={title} anchor={button} leave={() => setOpen(false)} close={close}>
          {children(close)}
        </MenuBox>
      )}
    </span>
  );
}

interface BoxProps {
  readonly name: string;
  readonly anchor: RefObject<HTMLElement | null>;
  readonly leave: () => void;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

function MenuBox({ name, anchor, leave, close, children }: BoxProps) {
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => frame.current?.querySelector<HTMLElement>("input, button, a")?.focus(), []);
  useClickElsewhere(() => anchor.current?.parentElement, leave);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  return (
    <Over anchor={anchor} class="menu-box" role="dialog" aria-label={name} onKeyDown={onKey}>
      <div ref={frame} class="pile">
        {children}
      </div>
    </Over>
  );
}
