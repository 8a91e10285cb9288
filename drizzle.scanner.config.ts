import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  driver: "durable-sqlite",
  schema: "./src/store/scanner/schema.ts",
  out: "./src/store/scanner/migrations",
});
