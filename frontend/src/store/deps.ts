/** What the parts of the store share. */
import type { ReadonlySignal } from "@preact/signals";
import type { Api } from "../api/routes";
import type { Activity } from "./activity";
import type { Facts } from "./facts";
import type { AlertList, Lists } from "./lists";

export interface Deps {
  readonly api: Api;
  readonly facts: Facts;
  readonly activity: Activity;
}

export interface VerbDeps extends Deps {
  /** The lists of the run. */
  readonly lists: ReadonlySignal<Lists | undefined>;
  /** The list of alerts that is shown. */
  readonly alertList: ReadonlySignal<AlertList | undefined>;
}
