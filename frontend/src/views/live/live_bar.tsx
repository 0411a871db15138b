/**
 * The line about a program that runs: what it does now, and the buttons that step it. It is there only while
 * there is a program, or one that has just ended.
 */
import type { LiveProgram } from "../../api/live";
import {
  type Action,
  headline,
  pauseNotes,
  pauseWords,
  programTitle,
  readOnlyWords,
  refusals,
  situationOf,
} from "../../model/live/program";
import { Choice } from "../choice";
import { Button } from "../panel";
import { Popover } from "../popover";
import type { Of, With } from "../props";
import { ContinueMenu } from "./continue_menu";
import { KEY_OF } from "./keys";

type Uses = "live" | typeof ContinueMenu;

export function LiveBar({ store }: With<Uses>) {
  const program = store.live.program.value;
  if (program === undefined) return null;
  const situation = situationOf(program);
  const isLost = store.live.connection.value !== undefined;
  return (
    <section
      class={`live-bar live-${isLost ? "unreachable" : situation}`}
      aria-label="Live program"
      data-testid="live-bar"
    >
      <span class="live-headline">
        <i aria-hidden="true" />
        <b class="ellipsis" data-testid="live-headline" title={programTitle(program)}>
          <span class="dim">Live: </span>
          {headline(program)}
        </b>
      </span>
      <ReadOnly store={store} program={program} />
      <Details store={store} program={program} />
      <Chooser store={store} program={program} />
      {situation === "ended" ? (
        <Button class="small" testId="live-close" act={store.live.closeEnded} text="Close" />
      ) : (
        <Buttons store={store} program={program} />
      )}
    </section>
  );
}

type BarProps = With<Uses, { program: LiveProgram }>;

/** Says so before a button is tried. */
function ReadOnly({ store, program }: BarProps) {
  const why = readOnlyWords(program, store.live.readOnly.value);
  if (why === undefined || situationOf(program) === "ended") return null;
  return (
    <span class="tag live-read-only" title={why} data-testid="live-read-only">
      read-only
    </span>
  );
}

/** Why it is paused, what else to know of the pause, and what failed. */
function Details({ store, program }: BarProps) {
  const { connection, refusal } = store.live;
  const problem = connection.value ?? refusal.value;
  if (problem !== undefined)
    return (
      <span class="problem cut" role="alert" title={problem} data-testid="live-problem">
        {problem}
      </span>
    );
  const pause = program.state?.pause;
  if (pause === undefined) return null;
  const notes = pauseNotes(pause);
  const words = pauseWords(program);
  return (
    <>
      {words !== "" && (
        <span class="live-why ellipsis" title={pause.sentence} data-testid="live-why">
          {words}
        </span>
      )}
      {notes.length > 0 && (
        <span class="live-note" title={notes.join(" ")} data-testid="live-notes">
          ⚠<span class="unseen"> {notes.join(" ")}</span>
        </span>
      )}
    </>
  );
}

/** The programs that run, if there are several. */
function Chooser({ store, program }: BarProps) {
  const all = store.live.programs.value;
  const programs = all.filter((each) => each.id === program.id || situationOf(each) !== "ended");
  if (programs.length < 2) return null;
  return (
    <Choice
      class="live-programs"
      options={programs.map((each) => ({
        value: each.id,
        title: `${programTitle(each)}: ${situationOf(each)}`,
      }))}
      value={program.id}
      choose={(id) => store.live.chooseProgram(id)}
      label="Program"
      testId="live-programs"
    />
  );
}

interface ActionButton {
  readonly action: Action;
  readonly label: string;
  readonly title: string;
  readonly act: (store: Of<Uses>) => void;
}

const ACTIONS: readonly ActionButton[] = [
  {
    action: "step",
    label: "Step",
    title: "Go on to the next tensor",
    act: ({ live }) => void live.step(),
  },
  {
    action: "stepOver",
    label: "Step over",
    title: "Go on to the next call from Python",
    act: ({ live }) => void live.stepOver(),
  },
  {
    action: "stepOut",
    label: "Step out",
    title: "Go on to the end of the current call",
    act: ({ live }) => void live.stepOut(),
  },
  {
    action: "continue",
    label: "Continue",
    title: "Go on to the next breakpoint",
    act: ({ live }) => void live.continueUntil(),
  },
  {
    action: "pause",
    label: "Pause",
    title: "Stop at the next tensor or call",
    act: ({ live }) => void live.pauseNow(),
  },
  {
    action: "detach",
    label: "Detach",
    title: "Let the program run on at full speed, without stops",
    act: ({ live }) => void live.detach(),
  },
];

function Buttons({ store, program }: BarProps) {
  const why = refusals(program, store.live.readOnly.value);
  return (
    <div class="live-buttons fixed" role="toolbar" aria-label="Control of the program">
      {ACTIONS.map(({ action, label, title, act }) => (
        <span key={action} class="live-action">
          <Button
            class={`live-button level live-button-${action}`}
            aria-disabled={why[action] !== undefined}
            aria-keyshortcuts={KEY_OF[action]}
            title={why[action] ?? title}
            testId={`live-${action}`}
            act={() => why[action] === undefined && act(store)}
          >
            {label}
            {KEY_OF[action] !== undefined && <kbd>{KEY_OF[action]}</kbd>}
          </Button>
          {action === "continue" && <ContinueMenu store={store} why={why.continue} />}
        </span>
      ))}
      <Stop store={store} why={why.stop} />
    </div>
  );
}

/** The button that ends the program, which asks back. */
function Stop({ store, why }: With<Uses, { why: string | undefined }>) {
  return (
    <Popover
      label="Stop"
      className="live-button level"
      title={why ?? "End the program"}
      isOff={why !== undefined}
      testId="live-stop"
    >
      {(close) => (
        <div class="live-question">
          <p>End the program? What it has not saved is lost.</p>
          <div class="live-answers">
            <Button class="small" act={close} text="Keep it" />
            <Button
              class="small live-danger bold"
              testId="live-stop-now"
              act={() => {
                close();
                void store.live.stopProgram();
              }}
              text="End it"
            />
          </div>
        </div>
      )}
    </Popover>
  );
}
