/**
 * Queries that are asked on every request or poll: built once for each database, then only bound. Building one
 * anew costs more than running it.
 */

/** @param build makes the query with placeholders; called once for each database object */
export function prepared<Db extends object, Query>(build: (db: Db) => Query): (db: Db) => Query {
  const queries = new WeakMap<Db, Query>();
  return (db) => {
    let query = queries.get(db);
    if (query === undefined) {
      query = build(db);
      queries.set(db, query);
    }
    return query;
  };
}
