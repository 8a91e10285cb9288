/** The demo shop of a service that runs with its sandbox, once it is open: a tenant that has a bit of everything. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { freshAddress } from "./merchant.ts";
import type { Service } from "./service.ts";

/** The account that its customer pays to. */
export const DEMO_ACCOUNT = "customer-1";
const OPEN_WITHIN = { timeout: 30_000 };

export interface DemoShop {
  readonly key: string;
  /** What the start prints: it signs in. */
  readonly link: string;
  /** @throws Error when the answer is not 2xx */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  list<T>(path: string): Promise<T[]>;
  /** What a shop has after a while and this one has not at its start: a withdrawal, a reconciliation. */
  fill(): Promise<void>;
}

/** @returns once its deposits are known */
export async function openDemoShop(service: Service): Promise<DemoShop> {
  const link = /Console: (\S+)/.exec(service.output())?.[1] ?? "";
  const shop = () => shopOf(service, link);
  return vi.waitFor(async () => {
    const open = shop();
    expect(await open.list("/v1/deposits")).toHaveLength(3);
    expect((await fetch(link, { redirect: "manual" })).status).toBe(303);
    return open;
  }, OPEN_WITHIN);
}

/** @throws Error when it has no key yet */
function shopOf(service: Service, link: string): DemoShop {
  const kept = readFileSync(join(service.dataDir, "sandbox", "demo.json"), "utf8");
  const { key = null } = JSON.parse(kept) as { readonly key?: string };
  if (key === null) throw new Error("the demo shop has no key yet");
  return withKey(service, link, key);
}

function withKey(service: Service, link: string, key: string): DemoShop {
  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const answer = await service.api<T>(method, path, {
      key,
      ...(method === "POST" && { headers }),
      ...(body !== undefined && { body }),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
  return {
    key,
    link,
    call,
    list: async <T>(path: string) => (await call<{ data: T[] }>("GET", path)).data,
    async fill() {
      const order = { network: "local", asset: "ETH", account: DEMO_ACCOUNT, amount: "0.01" };
      await call("POST", "/v1/withdrawals", { ...order, destination: freshAddress() });
      await call("POST", "/v1/reconciliation");
    },
  };
}
