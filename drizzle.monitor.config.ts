import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  driver: "durable-sqlite",
  schema: "./src/store/monitor/schema.ts",
  out: "./src/store/monitor/migrations",
});
