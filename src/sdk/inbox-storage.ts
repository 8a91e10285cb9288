/**
 * Where an inbox keeps its marks: beside the consumer's own data, so that one commit moves both.
 *
 * Whatever the store: a commit moves a mark only from the one that was read, and what the consumer writes for
 * the event is in that commit or nowhere.
 */

/** How far a subject was applied. */
export interface Mark {
  readonly subjectSequence: number;
  /** Confirmations and reversals of a deposit that were applied; 0 for everything else. */
  readonly credits: number;
}

export interface MarkChange {
  readonly subject: string;
  /** What was read; null: nothing. */
  readonly before: Mark | null;
  readonly after: Mark;
}

/** `Applied`: what the consumer's `apply` gives to the commit. */
export interface InboxStorage<Applied> {
  read(subject: string): Mark | null | Promise<Mark | null>;
  /**
   * Writes the mark and what `apply` does, both or neither. false: the mark was another one by then, and nothing
   * was written. `apply` is null when there is nothing but the mark.
   */
  commit(change: MarkChange, apply: (() => Applied) | null): boolean | Promise<boolean>;
}

/** The one table. Add it to the migrations of a D1 database; for SQLite it is made when it is not there. */
export const INBOX_SCHEMA =
  "CREATE TABLE IF NOT EXISTS sluice_inbox (subject TEXT PRIMARY KEY NOT NULL, subject_sequence INTEGER NOT NULL, credits INTEGER NOT NULL)";

const READ = "SELECT subject_sequence, credits FROM sluice_inbox WHERE subject = ?";

function readMark(row: unknown): Mark | null {
  if (typeof row !== "object" || row === null) return null;
  const { subject_sequence: subjectSequence, credits } = row as Record<string, unknown>;
  return { subjectSequence: Number(subjectSequence), credits: Number(credits) };
}

function isSame(one: Mark | null, other: Mark | null): boolean {
  return one?.subjectSequence === other?.subjectSequence && one?.credits === other?.credits;
}

// ---- SQLite -----------------------------------------------------------------------------------

/** `DatabaseSync` of node:sqlite and `Database` of better-sqlite3 both fit. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { get(...values: (string | number)[]): unknown; run(...values: (string | number)[]): unknown };
}

/**
 * `apply` writes to the same connection and gives nothing back: it runs inside the transaction, so it must be
 * done when it returns.
 */
export function sqliteStorage(db: SqliteDatabase): InboxStorage<void> {
  db.exec(INBOX_SCHEMA);
  const read = (subject: string) => readMark(db.prepare(READ).get(subject));
  return {
    read,
    commit({ subject, before, after }, apply) {
      // Immediate: from here on no other connection writes, so what is read below stays as it is.
      db.exec("BEGIN IMMEDIATE");
      try {
        if (!isSame(read(subject), before)) {
          db.exec("ROLLBACK");
          return false;
        }
        const given: unknown = apply?.();
        if (isThenable(given)) {
          given.then(undefined, () => {});
          throw new TypeError(
            "expected apply to be done when it returns: what it awaits would be outside the transaction",
          );
        }
        db.prepare(
          "INSERT INTO sluice_inbox (subject, subject_sequence, credits) VALUES (?, ?, ?) " +
            "ON CONFLICT (subject) DO UPDATE SET subject_sequence = excluded.subject_sequence, credits = excluded.credits",
        ).run(subject, after.subjectSequence, after.credits);
        db.exec("COMMIT");
        return true;
      } catch (error) {
        rollBack(db);
        throw error;
      }
    },
  };
}

/** Some errors have ended the transaction already; the one that is thrown is the one that matters. */
function rollBack(db: SqliteDatabase): void {
  try {
    db.exec("ROLLBACK");
  } catch {
    // No transaction was open any more.
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

// ---- D1 ---------------------------------------------------------------------------------------

export interface D1Statement<Statement> {
  bind(...values: (string | number | null)[]): Statement & D1Statement<Statement>;
  first(): Promise<unknown>;
}

/** A D1 database as far as it is needed: `env.DB` fits. */
export interface D1Like<Statement> {
  prepare(sql: string): Statement & D1Statement<Statement>;
  batch(statements: Statement[]): Promise<unknown>;
}

/**
 * `apply` gives the statements that belong to the event, and runs none of them: they go into one batch with
 * the mark, and a batch is a transaction. It may be asked more than once for one event. The table is `INBOX_SCHEMA`.
 */
export function d1Storage<Statement>(db: D1Like<Statement>): InboxStorage<Statement[] | Promise<Statement[]>> {
  const read = async (subject: string) => readMark(await db.prepare(READ).bind(subject).first());
  return {
    read,
    async commit({ subject, before, after }, apply) {
      const statements = (await apply?.()) ?? [];
      try {
        await db.batch([moveMark(db, { subject, before, after }), ...statements]);
        return true;
      } catch (error) {
        // Somebody else's commit came first, or our own did and its answer was lost: whoever asks again sees which.
        if (!isSame(await read(subject), before)) return false;
        throw error;
      }
    },
  };
}

/** Fails, and the batch with it, when the mark is not `before`: the row is there already, or NOT NULL is broken. */
function moveMark<Statement>(db: D1Like<Statement>, { subject, before, after }: MarkChange): Statement {
  const insert = "INSERT INTO sluice_inbox (subject, subject_sequence, credits) VALUES (?1, ?2, ?3)";
  if (before === null) return db.prepare(insert).bind(subject, after.subjectSequence, after.credits);
  return db
    .prepare(
      `${insert} ON CONFLICT (subject) DO UPDATE SET credits = ?3, ` +
        "subject_sequence = CASE WHEN subject_sequence = ?4 AND credits = ?5 THEN ?2 END",
    )
    .bind(subject, after.subjectSequence, after.credits, before.subjectSequence, before.credits);
}

// ---- memory -----------------------------------------------------------------------------------

/** For tests and for what may be forgotten: after a restart everything is new. */
export function memoryStorage(): InboxStorage<void | Promise<void>> {
  const marks = new Map<string, Mark>();
  // One commit at a time: `apply` may wait, and nothing may come in between.
  let last: Promise<unknown> = Promise.resolve();
  const read = (subject: string) => marks.get(subject) ?? null;
  return {
    read,
    commit({ subject, before, after }, apply) {
      const commit = last.then(async () => {
        if (!isSame(read(subject), before)) return false;
        await apply?.();
        marks.set(subject, after);
        return true;
      });
      last = commit.catch(() => {});
      return commit;
    },
  };
}
