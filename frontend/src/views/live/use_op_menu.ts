/** Opens the menu of the card of the graph structure that is clicked with the second button. */
import { useState } from "preact/hooks";
import { shown } from "../../base/loaded";
import { atOp } from "../../model/live/places";
import type { Neighbourhood } from "../../model/neighbourhood";
import type { PictureLayout } from "../picture_layout";
import type { Of } from "../props";
import { focusedOp } from "./focused_place";
import type { MenuRequest } from "./op_menu";

export function useOpMenu(store: Of<"live" | typeof whatOf>, op: Neighbourhood, layout: PictureLayout) {
  const [request, setRequest] = useState<MenuRequest>();
  return {
    request,
    close: () => setRequest(undefined),
    /** Without a program, the browser shows its own menu. */
    open(event: MouseEvent): void {
      if (store.live.program.value === undefined) return;
      const owner = (event.target as Element).closest<HTMLElement>("[data-card], .op-centre");
      const what = owner && whatOf(store, op, layout, owner.dataset.card);
      if (!owner || !what) return;
      event.preventDefault();
      setRequest({ ...what, owner, ...pointOf(event, owner) });
    },
  };
}

type What = Pick<MenuRequest, "where" | "focus">;

/** The op of a card; without a key, the one in focus. An eager op is not known by its name. */
function whatOf(
  store: Of<"opInfo" | "follow" | typeof focusedOp>,
  { opName }: Neighbourhood,
  { inputs, consumers }: PictureLayout,
  key: string | undefined,
): What | undefined {
  if (key === undefined) {
    const where = focusedOp(store);
    return where && opName !== undefined ? { where, focus: () => {} } : undefined;
  }
  const card = [...inputs.cards, ...consumers.cards].find((each) => each.key === key);
  if (card?.target.kind !== "op") return undefined;
  const { target } = card;
  const functionName = shown(store.opInfo.value)?.graph_name;
  return { where: atOp(target.opName, functionName), focus: () => store.follow(target) };
}

/** Where the pointer is; the key for menus has no pointer, so the menu is at the card. */
function pointOf(event: MouseEvent, owner: HTMLElement): Pick<MenuRequest, "x" | "y"> {
  if (event.clientX > 0 || event.clientY > 0) return { x: event.clientX, y: event.clientY };
  const { left, bottom } = owner.getBoundingClientRect();
  return { x: left, y: bottom };
}
