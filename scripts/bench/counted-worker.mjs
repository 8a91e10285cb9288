// The product as it is deployed, and beside it a count of what Cloudflare bills: rows written as its own cursors say
// them, alarms, and calls from object to object. Its types want the platform's: what is used here is in counted-worker.d.mts.

import product, { WebhookEndpoint as Endpoint, Tenant as OneTenant, ChainScanner as Scanner } from "../../src/index.ts";
import { onSteps } from "../../src/steps.ts";

/** By name: `rows Tenant events`, `set Tenant`, `fired Tenant`, `call Tenant.observe`, `D1 statements`, `D1 rows`. */
const counts = new Map();
const count = (name, by = 1) => counts.set(name, (counts.get(name) ?? 0) + by);

/** Cursors whose rows are not counted yet: what a statement wrote is known once it was read to its end. */
let open = [];

function settle() {
  for (const { kind, cursor, table } of open)
    if (cursor.rowsWritten > 0) count(`rows ${kind} ${table}`, cursor.rowsWritten);
  open = [];
}

const WRITES = /^\s*(?:insert(?:\s+or\s+\w+)?\s+into|update|delete\s+from)\s+["`]?(\w+)/i;

function counted(kind, Base) {
  return class extends Base {
    constructor(ctx, env) {
      const { sql } = ctx.storage;
      const exec = sql.exec.bind(sql);
      Object.defineProperty(sql, "exec", {
        value: (text, ...bound) => {
          const cursor = exec(text, ...bound);
          const [, table] = WRITES.exec(text) ?? [];
          if (table !== undefined) open.push({ kind, cursor, table });
          return cursor;
        },
      });
      super(ctx, countedEnv(env));
    }

    async alarm() {
      count(`fired ${kind}`);
      return super.alarm();
    }

    /** The alarm's own work, when a benchmark wants it. */
    async fire() {
      return super.alarm();
    }
  };
}

export const ChainScanner = counted("ChainScanner", Scanner);
export const Tenant = counted("Tenant", OneTenant);
export const WebhookEndpoint = counted("WebhookEndpoint", Endpoint);

onSteps({
  commit: (_, work) => work(),
  call(name, call) {
    const [, set] = /^(\w+) alarm$/.exec(name) ?? [];
    if (set !== undefined) count(`set ${set}`);
    else if (/^\w+\.\w+$/.test(name)) count(`call ${name}`);
    return call();
  },
});

const real = new WeakMap();

function countedEnv(env) {
  return { ...env, DB: countedD1(env.DB) };
}

function countedD1(db) {
  const note = ({ meta }) => {
    count("D1 statements");
    if (meta.rows_written > 0) count("D1 rows", meta.rows_written);
  };
  const statement = (own) => {
    const wrapped = {
      bind: (...values) => statement(own.bind(...values)),
      run: async () => noted(await own.run()),
      all: async () => noted(await own.all()),
      // The platform's own says only the row.
      first: async (column) => {
        const [row] = noted(await own.all()).results;
        return row === undefined ? null : column === undefined ? row : row[column];
      },
    };
    real.set(wrapped, own);
    return wrapped;
  };
  const noted = (result) => {
    note(result);
    return result;
  };
  return {
    prepare: (text) => statement(db.prepare(text)),
    batch: async (list) => {
      count("D1 calls");
      return (await db.batch(list.map((one) => real.get(one)))).map(noted);
    },
  };
}

export default {
  async fetch(request, env, context) {
    if (new URL(request.url).pathname === "/counted") {
      settle();
      return Response.json(Object.fromEntries(counts));
    }
    if (new URL(request.url).pathname === "/poll") {
      await env.CHAIN_SCANNER.get(env.CHAIN_SCANNER.idFromName("local")).fire();
      return new Response(null, { status: 204 });
    }
    return product.fetch(request, countedEnv(env), context);
  },
};
