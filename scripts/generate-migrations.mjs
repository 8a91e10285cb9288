/**
 * Writes the next migration of each database from its drizzle schema: D1 and the four kinds
 * of object. Migrations only go forward; one that was released is never edited. Usage: `npm run db:generate -- <name>`.
 *
 * Tables whose primary key is composite or text are made WITHOUT ROWID: the key is the table, so an insert
 * writes one row instead of two.
 */

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const name = process.argv[2];
if (name === undefined || !/^[a-z0-9_]+$/.test(name)) {
  console.error("usage: npm run db:generate -- <name_in_snake_case>");
  process.exit(2);
}

const folders = {
  d1: "migrations",
  tenant: "src/store/tenant/migrations",
  scanner: "src/store/scanner/migrations",
  endpoint: "src/store/endpoint/migrations",
  monitor: "src/store/monitor/migrations",
};
for (const [database, folder] of Object.entries(folders)) {
  const before = new Set(list(folder));
  execFileSync("npx", ["drizzle-kit", "generate", "--config", `drizzle.${database}.config.ts`, "--name", name], {
    stdio: "inherit",
  });
  for (const file of list(folder)) {
    if (!before.has(file)) withoutRowid(join(folder, file));
  }
}

function list(folder) {
  try {
    return readdirSync(folder).filter((file) => file.endsWith(".sql"));
  } catch {
    return [];
  }
}

function withoutRowid(path) {
  const statements = readFileSync(path, "utf8").split("--> statement-breakpoint");
  const changed = statements.map((statement) =>
    /CREATE TABLE/.test(statement) && /PRIMARY KEY\(|text PRIMARY KEY/.test(statement)
      ? statement.replace(/\n\);\s*$/, "\n) WITHOUT ROWID;\n")
      : statement,
  );
  writeFileSync(path, changed.join("--> statement-breakpoint"));
}
