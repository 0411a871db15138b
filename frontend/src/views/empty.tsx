/** The page when the logdir holds no debug events: what to do. */
const LINES = `import tb_debugger_plugin

tb_debugger_plugin.enable_dump_debug_info(
    logdir, tensor_debug_mode="FULL_HEALTH", circular_buffer_size=-1)`;

export function Empty({ failure }: { readonly failure: string | undefined }) {
  return (
    <main class="empty">
      <h1>No debug events here yet</h1>
      <p>Add these lines to your training script, before it builds its model:</p>
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
      {failure !== undefined && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
    </main>
  );
}
