/** The keyboard in a list of buttons. */
import { rowOfKey } from "../../model/keys";
import { isInField } from "../hooks";

/** Rows of a page, for the keys that go by one. */
const PAGE = 10;

/** Moves the focus between the buttons of a list; from a field, the arrow down leads to the first one. */
export function moveInList(event: KeyboardEvent): void {
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("li button")];
  const from = buttons.indexOf(document.activeElement as HTMLElement);
  const last = buttons.length - 1;
  const to = rowOfKey(event.key, { arrows: "down", from, page: PAGE, last });
  if (to === undefined || (isInField(event) && event.key !== "ArrowDown")) return;
  event.preventDefault();
  buttons[Math.max(0, Math.min(last, to))]?.focus();
}
