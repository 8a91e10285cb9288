/** The deposit line over Bitcoin (regtest) in memory: as line.ts, with a scanner and nodes of its own. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { BitcoinNetwork } from "../../src/core/network.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";
import { type Env, readSettings } from "../../src/env.ts";
import type { ChainScanner } from "../../src/index.ts";
import type { EnabledNetwork } from "../../src/settings.ts";
import { BitcoinChain } from "../support/bitcoin-chain.ts";
import { BitcoinNodeDouble } from "../support/bitcoin-double.ts";
import { CHAIN_SCANNER, DAY_MS, Merchant, time } from "./line.ts";
import { serveNodes } from "./serve-nodes.ts";

export const NETWORK = "bitcoin-regtest";

/** The network as it is shipped, which tests may set differently. */
export const regtest = BUILT_IN_NETWORKS.find((network) => network.id === NETWORK) as BitcoinNetwork;

export let chain: BitcoinChain;
export let node: BitcoinNodeDouble;

/** A new chain of 110 blocks, one node, and a scanner that has read nothing. */
export async function startBitcoin(): Promise<void> {
  time.now = Date.now() + 365 * DAY_MS;
  chain = BitcoinChain.grown();
  node = new BitcoinNodeDouble(chain);
  await runInDurableObject(scanner(), (_, state) => state.storage.deleteAll());
  await serveBitcoin(node);
}

/** The network has these providers from now on, in this order. */
export async function serveBitcoin(...nodes: readonly BitcoinNodeDouble[]): Promise<void> {
  const urls = nodes.map((_, i) => `http://user:pass@bitcoin-${i}.test`);
  serveNodes(Object.fromEntries(nodes.map((one, i) => [`http://bitcoin-${i}.test`, one])));
  await inScanner((object) => {
    for (const one of [env, (object as unknown as { env: Env }).env]) {
      const networks = readSettings(one as unknown as Env).networks as Map<string, EnabledNetwork>;
      networks.set(NETWORK, { settings: regtest, urls });
    }
  });
  await evictScanner();
}

function scanner(): DurableObjectStub<ChainScanner> {
  return CHAIN_SCANNER.get(CHAIN_SCANNER.idFromName(NETWORK)) as unknown as DurableObjectStub<ChainScanner>;
}

export const inScanner = <T>(work: (object: ChainScanner, sql: SqlStorage) => T | Promise<T>) =>
  runInDurableObject(scanner(), (object, state) => work(object, state.storage.sql));

export async function evictScanner(): Promise<void> {
  await evictDurableObject(scanner());
  await inScanner((object) => {
    object.clock = () => time.now;
  });
}

export async function poll(times = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    time.now += 1_000;
    expect(await runDurableObjectAlarm(scanner())).toBe(true);
  }
}

/** Mines so many blocks, the first with all that waits, and polls after each one. */
export async function mineAndPoll(count = 1): Promise<void> {
  for (let i = 0; i < count; i++) {
    chain.mine();
    await poll();
  }
}

export class BitcoinMerchant extends Merchant {
  static override async signUp(): Promise<BitcoinMerchant> {
    const { id, keyId, key } = await Merchant.signUp();
    return new BitcoinMerchant(id, keyId, key);
  }

  override watch(address: string, more: Record<string, unknown> = {}): Promise<{ id: string; watched_from: number }> {
    return super.watch(address, { network: NETWORK, ...more });
  }

  /** Events of one transaction's payments so far, without their first word. */
  async toldOf(txid: string): Promise<string> {
    const own = (await this.events()).filter(({ data }) => (data as { tx_id?: string }).tx_id === txid);
    return own.map(({ type }) => type.replace("deposit.", "")).join(" ");
  }

  /** Available, in satoshi. */
  async available(): Promise<bigint> {
    const rows = await this.inside((_, sql) => sql.exec("SELECT available FROM balances").toArray());
    return rows.reduce((sum, { available }) => sum + BigInt(String(available)), 0n);
  }
}
