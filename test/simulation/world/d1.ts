/** D1: one database far away, whose answers get lost before or after it did what was asked. */

import { afterTurn, ConnectionLost, type Fates, leave } from "./objects.ts";
import { named, Sqlite } from "./sqlite.ts";
import type { World } from "./world.ts";

export type D1Fate = "answered" | "failed" | "answer_lost" | "silent";

export interface D1Fates extends Pick<Fates, "callerCrash" | "latencyMs"> {
  d1(statements: string): D1Fate;
}

interface Result {
  results: Record<string, unknown>[];
  success: true;
  meta: { changes: number };
}

class Statement {
  readonly #d1: SimD1;
  readonly text: string;
  readonly values: readonly unknown[];

  constructor(d1: SimD1, text: string, values: readonly unknown[] = []) {
    this.#d1 = d1;
    this.text = text;
    this.values = values;
  }

  bind(...values: unknown[]): Statement {
    for (const value of values) {
      if (value === undefined) throw new Error("D1_TYPE_ERROR: Type 'undefined' not supported");
    }
    return new Statement(this.#d1, this.text, values);
  }

  async all(): Promise<Result> {
    const [result] = await this.#d1.batch([this]);
    return result as Result;
  }

  run(): Promise<Result> {
    return this.all();
  }

  async first(column?: string): Promise<unknown> {
    const row = (await this.all()).results[0];
    if (row === undefined) return null;
    return column === undefined ? row : (row[column] ?? null);
  }
}

export class SimD1 {
  readonly #world: World;
  readonly #fates: D1Fates;
  readonly #sqlite = new Sqlite();

  constructor(world: World, fates: D1Fates, migrations: readonly string[]) {
    this.#world = world;
    this.#fates = fates;
    for (const migration of migrations) this.#sqlite.run(migration);
  }

  prepare(text: string): Statement {
    return new Statement(this, text);
  }

  /** For looking at it from outside. */
  rows(text: string, ...values: unknown[]): Record<string, unknown>[] {
    return this.#one(text, values).results;
  }

  batch(statements: readonly Statement[]): Promise<Result[]> {
    const world = this.#world;
    const what = `d1 ${nameOf(statements[0]?.text ?? "")}`;
    if (!leave(world, this.#fates, what)) return new Promise(() => {});
    const fate = this.#fates.d1(what);
    if (fate !== "answered") world.note(`${what}: ${fate}`);
    return world.answer((resolve, reject) => {
      const arrive = () => {
        const lost = () => world.later(this.#fates.latencyMs(), `${what} lost`, () => reject(new ConnectionLost(what)));
        if (fate === "failed") return void lost();
        let results: Result[];
        try {
          results = this.#together(statements);
        } catch (error) {
          return void world.later(this.#fates.latencyMs(), `${what} refused`, () => reject(error));
        }
        if (fate === "answer_lost") return void lost();
        if (fate === "silent") return;
        world.later(this.#fates.latencyMs(), `${what} answers`, () => resolve(structuredClone(results)));
      };
      world.later(this.#fates.latencyMs(), what, afterTurn(world, arrive));
    });
  }

  #together(statements: readonly Statement[]): Result[] {
    this.#sqlite.command("BEGIN");
    try {
      const results = statements.map(({ text, values }) => this.#one(text, values));
      this.#sqlite.command("COMMIT");
      return results;
    } catch (error) {
      this.#sqlite.command("ROLLBACK");
      throw error;
    }
  }

  #one(text: string, values: readonly unknown[]): Result {
    const { columns, rows, changes } = this.#sqlite.query(text, values);
    return { results: rows.map((row) => named(columns, row)), success: true, meta: { changes } };
  }
}

/** "INSERT deposit_keys": enough to tell statements apart in a story. */
function nameOf(text: string): string {
  const verb = /^\s*(\w+)/.exec(text)?.[1] ?? "?";
  const table = /(?:into|from|update)\s+([a-z_]+)/i.exec(text)?.[1] ?? "?";
  return `${verb} ${table}`;
}
