/** The card that says how a program is joined, for a logdir in which none runs. */
import { useModal } from "../hooks";
import { Button, IconButton } from "../panel";
import type { With } from "../props";

interface Way {
  readonly title: string;
  readonly lines: string;
}

function ways(logdir: string): readonly Way[] {
  const folder = JSON.stringify(logdir);
  return [
    {
      title: "Any program, without a change to it",
      lines: `tbdbg run --interactive --logdir ${shellWord(logdir)} train.py`,
    },
    {
      title: "A program of TensorFlow 2",
      lines: `import tb_debugger_plugin\n\ntb_debugger_plugin.enable_breakpoints(${folder})`,
    },
    {
      title: "Keras",
      lines: `from tb_debugger_plugin.keras import DebuggerCallback\n\nmodel.fit(..., callbacks=[DebuggerCallback(${folder}, interactive=True)])`,
    },
    {
      title: "A session of TensorFlow 1",
      lines: `from tb_debugger_plugin import tfdbg\n\nhook = tfdbg.TensorBoardDebugHook(logdir=${folder})\nwith tf.compat.v1.train.MonitoredSession(hooks=[hook]) as session:\n    ...`,
    },
  ];
}

function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function StartCard({ store }: With<"live" | "logdir">) {
  const { isCardOpen, program, setCardOpen } = store.live;
  if (!isCardOpen.value || program.value !== undefined) return null;
  return <Card logdir={store.logdir.value?.logdir ?? "logdir"} close={() => setCardOpen(false)} />;
}

function Card({ logdir, close }: { readonly logdir: string; readonly close: () => void }) {
  const card = useModal();
  return (
    <dialog
      ref={card}
      class="start-card"
      aria-labelledby="start-card"
      data-testid="start-card"
      onClose={close}
    >
      <header class="start-head level ends">
        <h2 id="start-card">Debug a program while it runs</h2>
        <IconButton label="Close" text="×" act={close} />
      </header>
      <p>
        No program in this logdir waits for the debugger. Start one in any of these ways, in any order with
        TensorBoard. It stops before its first call, and this page shows it by itself.
      </p>
      {ways(logdir).map(({ title, lines }) => (
        <section key={title}>
          <h3>{title}</h3>
          <pre>
            <code>{lines}</code>
          </pre>
        </section>
      ))}
    </dialog>
  );
}

/** Opens the card; only while no program runs. */
export function LiveButton({ store }: With<"live">) {
  const { program, setCardOpen } = store.live;
  if (program.value !== undefined) return null;
  return (
    <Button
      class="small"
      title="Debug a program while it runs: breakpoints, steps, values"
      testId="live-open"
      act={() => setCardOpen(true)}
      text="Live …"
    />
  );
}
