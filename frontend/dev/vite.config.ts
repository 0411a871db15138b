// The page alone, with a viewer of its own that answers it: `npm run dev`, then http://127.0.0.1:17173/dev/.
// LOGDIR names recordings to show, from the root of the checkout; without it, the viewer makes a small one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { defineConfig } from "vite";

const ROOT = join(import.meta.dirname, "..", "..");
const PYTHON = process.env.PYTHON ?? join(ROOT, ".venv", "bin", "python");
const { LOGDIR } = process.env;

/** Starts a viewer, which ends with this process, and returns its address: the first line that it prints. */
async function startViewer(): Promise<string> {
  const viewer = spawn(PYTHON, ["-m", "tests.support.small_viewer", ...(LOGDIR ? [LOGDIR] : [])], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(viewer, "spawn");
  for await (const address of createInterface(viewer.stdout)) return address;
  throw new Error("The viewer did not start; its output is above.");
}

export default defineConfig(async () => ({
  server: { host: "127.0.0.1", port: 17173, open: false, proxy: { "/data/": await startViewer() } },
}));
