/** The stack and the source of what is in focus: the frame and the line that are shown. */
import { batch, computed } from "@preact/signals";
import type { Frames } from "../../api/answers";
import type { Api } from "../../api/routes";
import type { FrameId, RunName } from "../../base/ids";
import { shown } from "../../base/loaded";
import type { SourceLine } from "../../model/source";
import { type Frame, framesOf, mainFrame } from "../../model/stack";
import type { Choice, FocusedFacts, LineFocus } from "../focus/facts";
import type { Structure } from "../focus/structure";
import { showSubject } from "../focus/verbs";
import { type ByKey, both, type Deps, ready } from "../run/run";

export function createSource({ api, facts }: Deps<FocusedFacts>, byKey: ByKey, structure: Structure) {
  const run = facts.run;
  const stack = byKey(
    () => both(run.value, stackOf(facts, structure)),
    ([name, ids], signal) => {
      const frames = givenFrames(facts, structure);
      return frames === undefined ? loadStack(api, name, ids, signal) : framesOf(ids, frames);
    },
  );
  const shownFrame = computed(() => {
    if (facts.line.value !== undefined) return undefined;
    const frames = shown(stack.value) ?? [];
    return frames.find(({ id }) => id === facts.frame.value) ?? mainFrame(frames);
  });
  const source = byKey(
    () => both(run.value, facts.line.value?.file ?? shownFrame.value?.file),
    ([name, file], signal) => api.source(name, file, signal),
  );
  return {
    stack,
    /** The frame whose line is shown; undefined while a line is shown that was chosen without a frame. */
    shownFrame,
    source,
    /** The line that is shown. */
    sourceLine: computed((): SourceLine | undefined => {
      const chosen = facts.line.value;
      if (chosen === undefined) return shownFrame.value;
      return { ...chosen, path: ready(source.value)?.file_path ?? "", text: undefined };
    }),
  };
}

function stackOf(facts: FocusedFacts, { opInfo, executionData }: Structure): readonly FrameId[] | undefined {
  const subject = facts.subject.value === "op" ? shown(opInfo.value) : shown(executionData.value);
  const ids = subject?.stack_frame_ids ?? [];
  return ids.length === 0 ? undefined : ids;
}

/** The frames that came with the op in focus: all of its stack, unless one is not on record. */
function givenFrames(facts: FocusedFacts, { opInfo }: Structure): Frames | undefined {
  return facts.subject.peek() === "op" ? shown(opInfo.peek())?.frames : undefined;
}

async function loadStack(
  api: Api,
  run: RunName,
  ids: readonly FrameId[],
  signal: AbortSignal,
): Promise<readonly Frame[]> {
  return framesOf(ids, await api.frames(run, ids, signal));
}

export type SourceVerbs = ReturnType<typeof createSourceVerbs>;

export function createSourceVerbs(facts: FocusedFacts, choice: Choice) {
  return {
    focusFrame(frame: FrameId): void {
      facts.frame.value = frame;
      facts.line.value = undefined;
    },
    focusLine(line: LineFocus): void {
      choice.make();
      batch(() => {
        facts.touched.value = true;
        facts.line.value = line;
      });
    },
    /** Focuses a line that nothing on record belongs to, such as that of a call that is about to begin. */
    focusOnlyLine(line: LineFocus): void {
      choice.make();
      batch(() => {
        facts.touched.value = true;
        facts.execution.value = undefined;
        facts.graphExecution.value = undefined;
        facts.alert.value = undefined;
        showSubject(facts, "execution");
        facts.line.value = line;
      });
    },
  };
}
