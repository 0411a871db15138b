// Builds the page that the plugin serves: index.js, which exports render(), and its lazy chunks.
// Every address in the output is relative, because TensorBoard may stand behind any prefix.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: {
    outDir: "../tb_debugger_plugin/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    // Of what is bundled, and so handed on, its authors' notices go with it.
    license: { fileName: "THIRD_PARTY_LICENSES.txt" },
    lib: { entry: "src/main.ts", formats: ["es"], fileName: () => "index.js" },
    rollupOptions: {
      output: { chunkFileNames: "assets/[name]-[hash].js", assetFileNames: "assets/[name]-[hash][extname]" },
    },
  },
});
