/** A stack for display: innermost frame first, the user's frames open, library frames folded. */
import type { Frames } from "../api/answers";
import type { FileIndex, FrameId } from "../base/ids";

export interface Frame {
  readonly id: FrameId;
  readonly host: string;
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly func: string;
  readonly file: FileIndex | undefined;
  readonly text: string | undefined;
  readonly isLibrary: boolean;
}

export type StackPart =
  | { readonly kind: "frame"; readonly frame: Frame }
  | { readonly kind: "folded"; readonly frames: readonly Frame[] };

/** The frames of an answer in reverse, because TensorFlow lists the outermost frame first. */
export function framesOf(ids: readonly FrameId[], answer: Frames): readonly Frame[] {
  const frames = answer.stack_frames.map(([host, path, line, func], i) => {
    const detail = answer.details[i];
    const id = ids[i];
    if (id === undefined) throw new Error("The server's answer has more stack frames than were asked for.");
    const isLibrary = detail?.origin === "library";
    return { id, host, path, line, func, file: detail?.file_index, text: detail?.text, isLibrary };
  });
  return frames.reverse();
}

/** Folds adjacent library frames into one part. A stack of only library frames stays open. */
export function foldStack(frames: readonly Frame[]): readonly StackPart[] {
  if (frames.every((frame) => frame.isLibrary)) return frames.map((frame) => ({ kind: "frame", frame }));
  const parts: StackPart[] = [];
  let run: Frame[] = [];
  const flush = () => {
    if (run.length > 0) parts.push({ kind: "folded", frames: run });
    run = [];
  };
  for (const frame of frames) {
    if (frame.isLibrary) run.push(frame);
    else {
      flush();
      parts.push({ kind: "frame", frame });
    }
  }
  flush();
  return parts;
}

/** The frame that is shown first: the user's innermost one, else the innermost. */
export function mainFrame(frames: readonly Frame[]): Frame | undefined {
  return frames.find((frame) => !frame.isLibrary) ?? frames[0];
}

/**
 * The first frame of each file in a stack, in the order of the stack; the user's files before library files.
 */
export function filesOf(frames: readonly Frame[]): readonly Frame[] {
  const seen = new Set<string>();
  const first = frames.filter((frame) => !seen.has(frame.path) && seen.add(frame.path));
  return [...first.filter((frame) => !frame.isLibrary), ...first.filter((frame) => frame.isLibrary)];
}
