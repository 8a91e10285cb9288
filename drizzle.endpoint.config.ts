import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  driver: "durable-sqlite",
  schema: "./src/store/endpoint/schema.ts",
  out: "./src/store/endpoint/migrations",
});
