/** A part of the comparison that scrolls by itself. */
import type { ComponentChildren } from "preact";

interface PartProps {
  readonly name: "first" | "focus" | "lists";
  readonly label: string;
  readonly isBusy?: boolean;
  readonly children: ComponentChildren;
}

/** It takes the keyboard, which scrolls it: it need not hold a link. */
export function Part({ name, label, isBusy = false, children }: PartProps) {
  return (
    <section
      class={`compare-part slim anywhere scroll grow compare-${name}`}
      aria-label={label}
      aria-busy={isBusy}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the keyboard.
      tabIndex={0}
      data-testid={`comparison-${name}`}
    >
      {children}
    </section>
  );
}
