/** The first bad element of a value: a button and a key that go there, where the recorder noted it. */
import type { FirstBadElement } from "../../api/answers";
import type { ValueRef } from "../../api/values";
import type { ValueView } from "../../model/values/view";
import { Button } from "../panel";
import type { Of, With } from "../props";

interface BadElementProps extends With<"showElement"> {
  readonly value: ValueRef;
  readonly element: FirstBadElement | undefined;
}

/** Shows the value where it has the element; nothing when that is not known, or there is only one element. */
export function BadElementButton({ store, value, element }: BadElementProps) {
  const index = indexOf(element);
  if (index === undefined) return null;
  return (
    <Button
      class="small"
      title="Go to its first NaN or infinity (b)"
      testId="bad-element"
      act={() => store.showElement(value, index)}
      text={`First bad: [${index.join(", ")}]`}
    />
  );
}

/** Takes the key that goes to the first bad element; false for other keys. */
export function takeBadKey(store: Of<"showElement">, event: KeyboardEvent, view: ValueView): boolean {
  const index = event.key === "b" ? indexOf(view.info.element) : undefined;
  if (index === undefined || event.ctrlKey || event.metaKey) return false;
  event.preventDefault();
  store.showElement(view.ref, index);
  return true;
}

function indexOf(element: FirstBadElement | undefined): readonly number[] | undefined {
  return element?.index === undefined || element.index.length === 0 ? undefined : element.index;
}
