/** What can be done with an op while a program runs: buttons on the card in focus, and a menu on any card. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Where } from "../../api/live";
import { shown } from "../../base/loaded";
import { atOp, breakpointAt, placeWords } from "../../model/live/places";
import { mayEdit, refusals } from "../../model/live/program";
import type { Target } from "../../model/neighbourhood";
import { useClickElsewhere } from "../hooks";
import { Button } from "../panel";
import type { Of, With } from "../props";
import { focusedOp } from "./focused_place";

type Uses = "live" | "opInfo" | typeof focusedOp;

interface OpState {
  readonly isSet: boolean;
  readonly mayChange: boolean;
  readonly mayContinue: boolean;
}

/** What can be done at a place now; undefined without a program. */
function opState({ live }: Of<Uses>, where: Where): OpState | undefined {
  const program = live.program.value;
  if (program === undefined) return undefined;
  return {
    isSet: breakpointAt(live.state.value?.breakpoints ?? [], where) !== undefined,
    mayChange: mayEdit(program, live.readOnly.value),
    mayContinue: refusals(program, live.readOnly.value).continue === undefined,
  };
}

/** The buttons on the card of the op in focus. */
export function OpTools({ store }: With<Uses>) {
  const where = focusedOp(store);
  const now = where && opState(store, where);
  if (where === undefined || now === undefined) return null;
  const name = placeWords(where);
  const label = `${now.isSet ? "Remove the breakpoint on" : "Break on"} ${name}`;
  return (
    <span class="op-tools">
      <Button
        class="op-tool level framed"
        aria-pressed={now.isSet}
        aria-label={label}
        aria-keyshortcuts="F9"
        title={`${label} (F9)`}
        disabled={!now.mayChange}
        testId="op-breakpoint"
        act={() => void store.live.toggle(where)}
      >
        <span class={now.isSet ? "dot fixed dot-on" : "dot fixed"} aria-hidden="true" />
      </Button>
      {!where.calls && (
        <Button
          class="op-tool level framed"
          aria-label={`Continue to ${name}`}
          title={`Continue to ${name}`}
          disabled={!now.mayContinue}
          testId="op-continue"
          act={() => void store.live.continueUntil({ tensor: where })}
          text="⇥"
        />
      )}
    </span>
  );
}

/** Marks the card of an op that has a breakpoint. */
export function BreakDot({ store, target }: With<Uses, { target: Target }>) {
  if (store.live.program.value === undefined || target.kind !== "op") return null;
  const where = atOp(target.opName, shown(store.opInfo.value)?.graph_name);
  const found = breakpointAt(store.live.state.value?.breakpoints ?? [], where);
  if (found === undefined) return null;
  return (
    <span
      class={found.enabled ? "dot fixed dot-on" : "dot fixed"}
      role="img"
      aria-label="has a breakpoint"
      title="has a breakpoint"
    />
  );
}

/** A place on the page where a menu was asked for, and the op that it is about. */
export interface MenuRequest {
  readonly x: number;
  readonly y: number;
  readonly where: Where;
  readonly focus: () => void;
  readonly owner: HTMLElement;
}

export function OpMenu({ store, request, close }: With<Uses, { request: MenuRequest; close: () => void }>) {
  const menu = useRef<HTMLDivElement>(null);
  useStayInside(menu, request);
  useClickElsewhere(() => menu.current, close);
  const now = opState(store, request.where);
  if (now === undefined) return null;
  const done = (act: () => void) => {
    close();
    request.owner.focus();
    act();
  };
  return (
    <div
      ref={menu}
      class="op-menu"
      role="menu"
      aria-label={placeWords(request.where)}
      data-testid="op-menu"
      onKeyDown={(event) => takeMenuKey(event, menu.current, () => done(() => {}))}
    >
      {itemsOf(store, request, now).map(({ label, isOff, act }) => (
        <Button
          key={label}
          role="menuitem"
          tabIndex={-1}
          aria-disabled={isOff}
          act={() => !isOff && done(act)}
          text={label}
        />
      ))}
    </div>
  );
}

interface Item {
  readonly label: string;
  readonly isOff: boolean;
  readonly act: () => void;
}

function itemsOf({ live }: Of<Uses>, { where, focus }: MenuRequest, now: OpState): readonly Item[] {
  return [
    {
      label: now.isSet ? "Remove the breakpoint" : "Add a breakpoint",
      isOff: !now.mayChange,
      act: () => void live.toggle(where),
    },
    {
      label: "Continue to here",
      isOff: !now.mayContinue,
      act: () => void live.continueUntil({ tensor: where }),
    },
    { label: "Focus", isOff: false, act: focus },
  ];
}

type MenuRef = { readonly current: HTMLDivElement | null };

/** Puts the menu where it was asked for, inside of the page, and focuses its first item. */
function useStayInside(menu: MenuRef, { x, y }: MenuRequest): void {
  useLayoutEffect(() => {
    const box = menu.current;
    if (box === null) return;
    const { innerWidth, innerHeight } = window;
    box.style.left = `${Math.max(0, Math.min(x, innerWidth - box.offsetWidth - 4))}px`;
    box.style.top = `${Math.max(0, Math.min(y, innerHeight - box.offsetHeight - 4))}px`;
    box.querySelector("button")?.focus();
  }, [x, y]);
}

function takeMenuKey(event: KeyboardEvent, menu: HTMLElement | null, close: () => void): void {
  const items = [...(menu?.querySelectorAll("button") ?? [])];
  const at = items.indexOf(document.activeElement as HTMLButtonElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step !== undefined) items[(at + step + items.length) % items.length]?.focus();
  else if (event.key === "Escape" || event.key === "Tab") close();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
