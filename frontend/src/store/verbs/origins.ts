/** The verb that chooses which origin is explained. */
import type { Origin } from "../../api/origins";
import { originKey, placeTarget } from "../../model/origin";
import type { Facts } from "../facts";
import type { FocusVerbs } from "./focus";

export function createOriginVerbs(facts: Facts, { follow }: Pick<FocusVerbs, "follow">) {
  return {
    /** Explains an origin, and moves to its value. */
    chooseOrigin(origin: Origin): void {
      facts.origin.value = originKey(origin);
      follow(placeTarget(origin));
    },
  };
}
