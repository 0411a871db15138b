// Builds the page that the plugin serves: index.js, which exports render(), and its lazy chunks.
// Every address in the output is relative, because TensorBoard may be served below any prefix.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  // Of a library, Vite leaves it to others to say this.
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  build: {
    outDir: "../tb_debugger_plugin/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    // The licences of bundled packages must be distributed with them.
    license: { fileName: "THIRD_PARTY_LICENSES.txt" },
    lib: { entry: "src/main.ts", formats: ["es"], fileName: () => "index.js" },
    rollupOptions: {
      // What is fetched later takes most of what it shares from index.js, not from many small files.
      preserveEntrySignatures: "allow-extension",
      output: { chunkFileNames: "assets/[name]-[hash].js", assetFileNames: "assets/[name]-[hash][extname]" },
    },
  },
});
