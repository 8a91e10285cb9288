import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  driver: "durable-sqlite",
  schema: "./src/store/tenant/schema.ts",
  out: "./src/store/tenant/migrations",
});
