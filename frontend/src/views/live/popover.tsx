/** A button that opens a box below it. Escape and a click elsewhere close it, and the focus goes back. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useClickElsewhere } from "../hooks";

interface PopoverProps {
  readonly label: ComponentChildren;
  /** Of the box, when the label is a sign. */
  readonly name?: string;
  readonly className: string;
  readonly title: string;
  readonly isOff: boolean;
  readonly testId: string;
  readonly children: (close: () => void) => ComponentChildren;
}

export function Popover({ label, name, className, title, isOff, testId, children }: PopoverProps) {
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
        <Box name={name ?? String(label)} close={close}>
          {children(close)}
        </Box>
      )}
    </span>
  );
}

interface BoxProps {
  readonly name: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

function Box({ name, close, children }: BoxProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    box.current?.querySelector<HTMLElement>("[autofocus], button, select, input")?.focus();
  }, []);
  useClickElsewhere(() => box.current?.parentElement, close);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  return (
    <div ref={box} class="popover-box" role="dialog" aria-label={name} onKeyDown={onKey}>
      {children}
    </div>
  );
}
