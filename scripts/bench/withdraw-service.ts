/** The service with one tenant whose one account has enough to pay out, and what it holds in the end. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DEV_ACCOUNTS } from "../../test/support/anvil.ts";
import { type Service, startService } from "../../test/support/service.ts";
import { requestText } from "./withdraw-load.ts";

const ADDRESS = "0x00000000000000000000000000000000000b0b0b";
const PAYEE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const ACCOUNT = "hot";
/** ETH. */
const AMOUNT = "0.000001";
const AMOUNT_UNITS = 1_000_000_000_000n;
const FUNDS_UNITS = 5_000n * 10n ** 18n;

/** Below its 6,000 requests a minute, no key is ever refused: there are as many as the measurement takes. */
const KEYS = 150;

export interface Shop {
  readonly service: Service;
  /** A withdrawal under a key of its own. */
  nextWithdrawal(): string;
  /** A request that the Worker refuses without asking anybody. */
  hello(): string;
  /** Compares what is held with what was accepted. @throws Error when they differ */
  check(accepted: number): Promise<void>;
  stop(): Promise<void>;
}

export async function openShop(): Promise<Shop> {
  const service = await startService({ environment: { SANDBOX: "off" } });
  const { key } = await service.signUp("bench");
  const keys = [key];
  while (keys.length < KEYS) {
    const made = await service.api<{ secret: string }>("POST", "/v1/api-keys", {
      key,
      body: { name: "bench", scopes: ["withdrawals:write"] },
    });
    keys.push(made.body.secret);
  }
  await fund(service, key);
  // From here on the chain answers nobody: what is measured is how withdrawals are taken in, not how they are paid.
  const chain = chainProcess(service);
  process.kill(chain, "SIGSTOP");

  let made = 0;
  const run = Math.random().toString(36).slice(2);
  const body = { network: "local", asset: "ETH", destination: PAYEE, amount: AMOUNT, account: ACCOUNT };
  return {
    service,
    nextWithdrawal() {
      const by = keys[made % keys.length];
      const headers = { authorization: `Bearer ${by}`, "idempotency-key": `payout-${run}-${made++}` };
      return requestText("POST", "/v1/withdrawals", headers, body);
    },
    hello: () => requestText("GET", "/v1/withdrawals", {}, null),
    async check(accepted) {
      const { body: page } = await service.api<{ data: { account: string; reserved: string }[] }>(
        "GET",
        `/v1/balances?account=${ACCOUNT}`,
        { key },
      );
      const held = {
        reserved: page.data[0]?.reserved,
        withdrawals: countIn(service, "withdrawals"),
        reservations: countIn(service, "ledger_entries", "cause_type = 'withdrawal.reserved'"),
        events: countIn(service, "events", "type = 'withdrawal.updated'"),
        keys: countIn(service, "withdrawal_keys"),
      };
      const units = (AMOUNT_UNITS * BigInt(accepted)).toString().padStart(19, "0");
      const reserved = `${units.slice(0, -18)}.${units.slice(-18)}`.replace(/\.?0+$/, "");
      const wanted = { reserved, withdrawals: accepted, reservations: accepted, events: accepted, keys: accepted };
      if (JSON.stringify(held) !== JSON.stringify(wanted))
        throw new Error(`expected ${JSON.stringify(wanted)}, found ${JSON.stringify(held)}`);
    },
    async stop() {
      process.kill(chain, "SIGCONT");
      await service.stop();
    },
  };
}

async function fund(service: Service, key: string): Promise<void> {
  const watched = await service.api("POST", "/v1/addresses", {
    key,
    body: { network: "local", address: ADDRESS, account: ACCOUNT },
  });
  if (watched.status !== 201) throw new Error(`the address is refused: ${JSON.stringify(watched.body)}`);
  const payment = { from: DEV_ACCOUNTS[0], to: ADDRESS, value: `0x${FUNDS_UNITS.toString(16)}` };
  const sent = await fetch(service.chainUrl ?? "", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_sendTransaction", params: [payment] }),
  });
  if (!sent.ok) throw new Error(`the chain does not take the deposit: ${await sent.text()}`);
  for (let waited = 0; waited < 300; waited++) {
    const { body } = await service.api<{ data: { available: string }[] }>("GET", `/v1/balances?account=${ACCOUNT}`, {
      key,
    });
    if (body.data.some(({ available }) => available !== "0")) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the deposit is not confirmed in 30 s");
}

function chainProcess(service: Service): number {
  const pid = service.processes().find((one) => nameOf(one).includes("anvil"));
  if (pid === undefined) throw new Error("the service runs without its chain");
  return pid;
}

/** The runtime, in which all of the Worker, the objects and D1 run. */
export function runtimeProcess(service: Service): number {
  const pid = service.processes().find((one) => nameOf(one).includes("workerd"));
  if (pid === undefined) throw new Error("the service runs without its runtime");
  return pid;
}

function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8");
}

/** Rows of a table, in whichever of the service's databases has it. */
function countIn(service: Service, table: string, where = "1"): number {
  let rows = 0;
  for (const name of readdirSync(service.dataDir, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".sqlite")) continue;
    const db = new DatabaseSync(join(service.dataDir, name), { readOnly: true });
    try {
      const found = db.prepare("SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name = ?").get(table);
      if (Number(found?.n) > 0)
        rows += Number(db.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${where}`).get()?.n);
    } finally {
      db.close();
    }
  }
  return rows;
}
