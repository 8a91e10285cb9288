/** The tables of the operator's monitor. What is kept here can be lost: every source tells it again. */

import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Figure } from "../../core/figures.ts";

/** The newest report of each object. */
export const reports = sqliteTable("reports", {
  source: text("source").primaryKey(),
  at: integer("at").notNull(),
  figures: text("figures", { mode: "json" }).$type<readonly Figure[]>().notNull(),
});
