/** Hooks that several views use. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Size {
  readonly width: number;
  readonly height: number;
}

export const NO_SIZE: Size = { width: 0, height: 0 };

/** The inner size of an element, kept up to date; `first` is that of the element that it takes the place of. */
export function useSize(ref: RefObject<HTMLElement | null>, first = NO_SIZE): Size {
  const [size, setSize] = useState(first);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = () =>
      setSize((old) =>
        old.width === element.clientWidth && old.height === element.clientHeight
          ? old
          : { width: element.clientWidth, height: element.clientHeight },
      );
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    // The observer measures after the next layout; to ask now would make the browser lay out twice.
    if (first === NO_SIZE) measure();
    return () => observer.disconnect();
  }, []);
  return size;
}

/** Runs `act` after a value of `on` changed and was drawn. */
export function useChange(act: () => void, on: readonly unknown[]): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => latest.current(), on as unknown[]);
}

/** Follows the pointer from a press until the release. */
export function drag(event: PointerEvent, onMove: (event: PointerEvent) => void, onEnd?: () => void): void {
  const element = event.currentTarget as HTMLElement;
  element.setPointerCapture(event.pointerId);
  const end = () => {
    element.removeEventListener("pointermove", onMove);
    element.removeEventListener("pointerup", end);
    element.removeEventListener("pointercancel", end);
    onEnd?.();
  };
  element.addEventListener("pointermove", onMove);
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
}

/** Calls back at a press outside of an element. */
export function useClickElsewhere(element: () => HTMLElement | null | undefined, act: () => void): void {
  useEffect(() => {
    const onPress = (event: PointerEvent) => {
      if (!element()?.contains(event.target as Node)) act();
    };
    document.addEventListener("pointerdown", onPress);
    return () => document.removeEventListener("pointerdown", onPress);
  }, []);
}

/** Whether a key is for a field that has the keyboard. */
export function isInField({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.closest("input, select, textarea") !== null;
}

/** A dialog that is over the page from the first on. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const card = useRef<HTMLDialogElement>(null);
  useEffect(() => card.current?.showModal(), []);
  return card;
}
