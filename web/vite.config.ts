/// <reference types="vitest/config" />
import { defineConfig } from "vite";

// One ES module that needs nothing else: page, notebook and file load the same one.
export default defineConfig({
  build: {
    lib: { entry: "src/entry.tsx", formats: ["es"], fileName: () => "edgewise.js" },
    outDir: "../src/edgewise/views/static",
    emptyOutDir: true,
    target: "es2022",
    minify: true,
    // As a library the module would keep its white space: here nobody builds on it.
    rolldownOptions: { output: { minify: true } },
    reportCompressedSize: false,
  },
  define: { "process.env.NODE_ENV": '"production"' },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: { environment: "happy-dom", include: ["tests/**/*.test.{ts,tsx}"] },
});
