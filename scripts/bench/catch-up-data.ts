/**
 * Data folders of a service that stands at the chain's head and watches many addresses. The first one is given through the API,
 * and its rows, in D1, at the tenant and at the scanner, are written again for the merchant's others while the service is
 * stopped. Those of other tenants, which nothing pays, are written for the scanner alone, as its own watch would have left
 * them: a million calls would say nothing about catching up and take hours.
 */

import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { atExit } from "../../test/support/at-exit.ts";
import { startService, TEMPLATE } from "../../test/support/service.ts";
import { TOKEN, watchedAddress } from "./catch-up-chain.ts";

/** Longer than a run: the scanner reads when it is told to, not by itself. */
const NEVER_MS = 3_600_000;
const ADDRESSES_PER_TENANT = 1_000;

export interface Data {
  readonly folder: string;
  readonly key: string;
}

export function environmentFor(url: string): Record<string, string> {
  const settings = { poll_ms: NEVER_MS, native: false, internal: false, finality: "tag", confirmations: 1 };
  return { RPC_LOCAL: url, NETWORKS: JSON.stringify({ local: settings }) };
}

export async function makeData(url: string, addresses: number): Promise<Data> {
  delete process.env[TEMPLATE];
  const service = await startService({ environment: environmentFor(url) });
  try {
    const { key } = await service.signUp();
    const post = async (path: string, body: object) => {
      const answer = await service.api("POST", path, { key, body });
      if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    };
    await post("/v1/assets", { network: "local", contract: TOKEN });
    await post("/v1/addresses", { network: "local", address: watchedAddress(0), account: "customer-0" });
    await service.terminate();
    const folder = copied(service.dataDir);
    for (const file of databases(folder)) addAlike(file, addresses);
    return { folder, key };
  } finally {
    await service.stop();
  }
}

/** The same, and watches of so many further addresses by other tenants. */
export function withMoreWatches(data: Data, more: number): Data {
  const folder = copied(data.folder);
  const db = new DatabaseSync(scannerFile(folder));
  const { height } = db.prepare("SELECT scanned_to + 1 AS height FROM scanner").get() as { height: number };
  const putTenant = db.prepare("INSERT INTO tenants (tenant_id, dirty, kept_from) VALUES (?, 0, ?)");
  const putAddress = db.prepare("INSERT INTO addresses (address, from_height, tenant) VALUES (?, ?, ?)");
  db.exec("PRAGMA cache_size = -400000; BEGIN");
  let tenant: number | bigint = 0;
  for (let n = 0; n < more; n++) {
    if (n % ADDRESSES_PER_TENANT === 0) tenant = putTenant.run(`ten_bench${n}`, height).lastInsertRowid;
    putAddress.run(strangersAddress(n), height, tenant);
  }
  db.prepare("UPDATE counters SET value = value + ? WHERE name = 'watches_taken'").run(more);
  db.exec("COMMIT");
  db.close();
  return { folder, key: data.key };
}

/** Spread as real ones are. */
function strangersAddress(n: number): string {
  return `0x${createHash("sha1").update(String(n)).digest("hex")}`;
}

function copied(from: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sluice-bench-")));
  atExit(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(from, folder, { recursive: true });
  return folder;
}

/** Whoever keeps a row of the first address keeps one of each of the others. */
function addAlike(file: string, addresses: number): void {
  const db = new DatabaseSync(file);
  const hasTable = db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'addresses'").get();
  const find = () => db.prepare("SELECT * FROM addresses WHERE address = ?").get(watchedAddress(0));
  const first = hasTable === undefined ? undefined : find();
  if (first !== undefined) {
    const { seq: _seq, ...row } = first;
    const names = Object.keys(row);
    const put = db.prepare(`INSERT INTO addresses (${names}) VALUES (${names.map((name) => `:${name}`)})`);
    db.exec("BEGIN");
    for (let n = 1; n < addresses; n++) {
      const id = "id" in row ? { id: `${String(row.id).slice(0, -6)}${String(n).padStart(6, "0")}` } : {};
      const account = "account" in row ? { account: `customer-${n}` } : {};
      put.run({ ...row, ...id, ...account, address: watchedAddress(n) });
    }
    db.exec("COMMIT");
  }
  db.close();
}

/** The one database of the folder with the scanner's tables. */
function scannerFile(folder: string): string {
  const files = databases(folder);
  for (const file of files) {
    const db = new DatabaseSync(file);
    const found = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'scanner'").get();
    db.close();
    if (found !== undefined) return file;
  }
  throw new Error(`no scanner's database among ${files.length} in ${folder}`);
}

function databases(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.filter((name) => name.endsWith(".sqlite")).map((name) => join(folder, name));
}
