/** The page for a logdir without debug events: possible reasons, and what to do. */
import type { ComponentChildren } from "preact";
import type { Logdir } from "../api/answers";
import { LogdirProblems } from "./logdir_problems";

const LINES = `import tb_debugger_plugin

tb_debugger_plugin.enable_dump_debug_info(
    logdir, tensor_debug_mode="FULL_HEALTH", circular_buffer_size=-1)`;

interface EmptyProps {
  readonly logdir: Logdir | undefined;
  readonly failure: string | undefined;
  /** The button that says how a program is debugged while it runs. */
  readonly live: ComponentChildren;
}

export function Empty({ logdir, failure, live }: EmptyProps) {
  return (
    <main class="empty scroll">
      <h1>No debug events here yet</h1>
      {logdir !== undefined && logdir.problems.length > 0 && (
        <>
          <p>
            <b>
              Not everything in <code>{logdir.logdir ?? "the logdir"}</code> could be looked at:
            </b>
          </p>
          <LogdirProblems logdir={logdir} />
        </>
      )}
      <p>Add these lines to your training script, at any place before what you want to see:</p>
      <pre>
        <code>{LINES}</code>
      </pre>
      <p>
        Run the script, with <code>logdir</code> the folder that TensorBoard was started on or one below it.
        This page fills by itself as soon as the first events are written.
      </p>
      <p>
        To see it at work without a script of your own: <code>tbdbg demo</code>
      </p>
      <p>To stop a program at breakpoints while it runs: {live}</p>
      {failure !== undefined && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
    </main>
  );
}
