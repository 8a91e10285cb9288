/**
 * The service on one chain with one merchant that hears of its deposits, and beside it, on request, any number of
 * further tenants that watch an address each.
 *
 * The further ones are rows in the scanner's own database, written while the service is down: a poll meets tenants
 * nowhere else, and ten thousand sign-ups would take minutes. The merchant that is paid signs up by the API.
 */

import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Service, startService } from "../../test/support/service.ts";
import { type Merchant, startMerchant } from "./live-merchant.ts";
import { type Provider, startProvider } from "./live-provider.ts";

export const PAID = "0x00000000000000000000000000000000000a11ce";

export interface Shop {
  readonly provider: Provider;
  readonly merchant: Merchant;
  readonly service: Service;
  stop(): Promise<void>;
}

export interface ShopSettings {
  readonly node: string;
  /** Keys of the network `local`. */
  readonly network: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  readonly tenants: number;
}

export async function openShop({ node, network, events, tenants }: ShopSettings): Promise<Shop> {
  const provider = await startProvider(node);
  const merchant = await startMerchant();
  const environment = { RPC_LOCAL: provider.url, NETWORKS: JSON.stringify({ local: network }) };
  const service = await startService({ environment });
  const stop = async () => {
    await service.stop();
    await merchant.close();
    await provider.close();
  };
  try {
    const { key } = await service.signUp();
    const must = async <T>(path: string, body: unknown): Promise<T> => {
      const answer = await service.api<T>("POST", path, { key, body });
      if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    };
    const { secret } = await must<{ secret: string }>("/v1/webhook-endpoints", { url: merchant.url, events });
    merchant.setSecret(secret);
    await must("/v1/addresses", { network: "local", address: PAID });
    if (tenants > 1) {
      await service.terminate();
      seed(service.dataDir, tenants - 1);
      await service.restart();
    }
    return { provider, merchant, service, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function seed(dataDir: string, count: number): void {
  for (const file of globSync(join(dataDir, "cloudflare", "**", "*ChainScanner*", "*.sqlite"))) {
    const db = new DatabaseSync(file);
    const isScanner = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'scanner'").get() !== undefined;
    const state = isScanner ? db.prepare("SELECT scanned_to, window_from, version FROM scanner").get() : undefined;
    if (state !== undefined) {
      db.exec("BEGIN");
      const tenant = db.prepare(
        "INSERT INTO tenants (tenant_id, acked_version, dirty, kept_from) VALUES (?, ?, 0, ?) RETURNING n",
      );
      const address = db.prepare("INSERT INTO addresses (address, from_height, tenant) VALUES (?, ?, ?)");
      for (let i = 0; i < count; i++) {
        const id = `ten_${i.toString(16).padStart(32, "0")}`;
        const { n } = tenant.get(id, Number(state.version), Number(state.window_from)) as { n: number };
        address.run(`0x${(0xbeef00000 + i).toString(16).padStart(40, "0")}`, Number(state.scanned_to) + 1, n);
      }
      db.prepare("UPDATE counters SET value = value + ? WHERE name = 'watches_taken'").run(count);
      db.exec("COMMIT");
    }
    db.close();
  }
}
