/**
 * How the console is built: into the folder that `wrangler.toml` serves as static assets, or into SLUICE_CONSOLE.
 *
 * Nothing is inlined: the pages' Content-Security-Policy (public/_headers) takes scripts, styles and images from
 * files of this origin alone.
 */

import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Whoever builds, a test run too: the build is kept and served to others, and React's development build is large and slow.
process.env.NODE_ENV = "production";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/",
  publicDir: "public",
  plugins: [react()],
  build: {
    outDir: process.env.SLUICE_CONSOLE ?? fileURLToPath(new URL("../../dist/console", import.meta.url)),
    emptyOutDir: true,
    assetsDir: "console",
    assetsInlineLimit: 0,
    // Charts alone are larger; they are a part of their own, fetched when a page shows one.
    chunkSizeWarningLimit: 600,
  },
});
