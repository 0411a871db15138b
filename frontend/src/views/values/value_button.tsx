/** The button that opens the value view. */
import type { ValueRef } from "../../api/values";
import { isSameRef } from "../../model/values/value_ref";
import { Button } from "../panel";
import type { With } from "../props";

interface ButtonProps extends With<"value" | "showValue"> {
  readonly value: ValueRef;
  /** The name of the tensor. */
  readonly name: string;
  /** Whether the key Tab stops at it; in a list, whose keys open the value, it does not. */
  readonly isInList?: boolean;
  readonly className?: string;
  readonly style?: { readonly top: string };
}

export function ValueButton({ store, value, name, isInList = false, className = "", style }: ButtonProps) {
  return (
    <Button
      class={`value-button ${className}`}
      style={style}
      title={`Show the elements of ${name}${isInList ? " (v)" : ""}`}
      aria-label={`Show the elements of ${name}`}
      aria-pressed={isSameRef(store.value.value, value)}
      tabIndex={isInList ? -1 : 0}
      testId="value-button"
      act={(event) => {
        event.stopPropagation();
        store.showValue(value);
      }}
      text="▦"
    />
  );
}
