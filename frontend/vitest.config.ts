import { defineConfig } from "vitest/config";

// The time of a test says how busy the machine is; the limit only ends one that hangs.
const LIMIT_MS = 120_000;

export default defineConfig({
  test: { include: ["test/**/*.test.ts"], environment: "node", testTimeout: LIMIT_MS },
});
