/** The facts of the panels of a program that runs: its tensors, its ops, and what was computed of them. */
import { signal } from "@preact/signals";
import type { Evaluation } from "../../api/live";
import type { ProgramId } from "../../base/ids";
import type { Loaded } from "../../base/loaded";
import type { CurveNumber } from "../../model/live/curves";
import type { ListedOp } from "../../model/live/op_list";
import type { Grouping } from "../../model/live/op_tree";
import { NOTHING_SEEN, type SeenTensors } from "../../model/live/seen_tensors";
import { type NameFilter, NO_FILTER, NO_ROWS, type TensorRows } from "../../model/live/tensor_rows";

/** An expression, and its result when it has arrived. */
export interface Evaluated {
  readonly number: number;
  readonly program: ProgramId;
  readonly expression: string;
  readonly result: Loaded<Evaluation>;
}

export type PanelFacts = ReturnType<typeof createPanelFacts>;

export function createPanelFacts() {
  return {
    /** The program that the rows and what was seen are of. */
    rowsOf: signal<ProgramId | undefined>(undefined),
    /** The tensors of the current call. */
    rows: signal<TensorRows>(NO_ROWS),
    /** Why the tensors could not be fetched. */
    rowsFailure: signal<string | undefined>(undefined),
    /** The numbers of tensors in this call and in earlier ones. */
    seen: signal<SeenTensors>(NOTHING_SEEN),
    tensorFilter: signal<NameFilter>(NO_FILTER),
    /** The number of the tensor that the reader chose in the list. */
    chosenTensor: signal<number | undefined>(undefined),
    /** Whether an open value changes to that of the next time its tensor is computed. */
    isFollowing: signal(true),
    /** All ops of the recording; undefined until the tree is opened. */
    ops: signal<Loaded<readonly ListedOp[]> | undefined>(undefined),
    grouping: signal<Grouping>("scope"),
    opFilter: signal<NameFilter>(NO_FILTER),
    /** The keys of the open groups of the tree; undefined until the reader opens or closes one. */
    openGroups: signal<ReadonlySet<string> | undefined>(undefined),
    /** Why the last click on a box did nothing. */
    boxRefusal: signal<string | undefined>(undefined),
    curveNumber: signal<CurveNumber>("mean"),
    /** Expressions, newest first. */
    evaluated: signal<readonly Evaluated[]>([]),
    /** What came of the last change of a value: done, or why not. */
    changed: signal<
      { readonly pause: number; readonly sentence: string; readonly done: boolean } | undefined
    >(undefined),
  };
}
