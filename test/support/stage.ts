/**
 * One running service for one test file, with networks of its own: each an anvil behind a proxy, so that a
 * test may do to its chain and its provider what it likes. All that was printed is kept, over every restart.
 */

import { type Anvil, startAnvil } from "./anvil.ts";
import { type Merchant, openMerchant } from "./merchant.ts";
import type { ChainOf } from "./oracle.ts";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.ts";
import { type Service, startService } from "./service.ts";

/** As the operator sees it. */
export interface ScannerView {
  readonly scanned_to: number | null;
  readonly status: "ok" | "lagging" | "halted";
  readonly internal: string;
  readonly incident: { readonly id: string; readonly reason: string } | null;
  readonly counters: Readonly<Record<string, number>>;
  readonly last_error: string | null;
}

export interface Network extends ChainOf {
  readonly chain: Anvil;
  readonly proxy: RpcProxy;
  view(): Promise<ScannerView>;
}

export interface Stage {
  readonly service: Service;
  /** Starts the network's chain. */
  open(id: string): Promise<Network>;
  merchant(name: string): Promise<Merchant>;
  /** A second chain that begins as a copy of the first; gone with the stage. */
  copyOf(chain: Anvil): Promise<Anvil>;
  operate(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
  /** kill -9 of every process of the service. */
  kill(): Promise<void>;
  /** Starts it again on its data. Nothing asks it for anything but its health. */
  restart(): Promise<void>;
  /** All that the service printed so far. */
  printed(): string;
  /** What must never be printed. */
  secrets(): string[];
  stop(): Promise<void>;
}

export type NetworkOverrides = Readonly<Record<string, number | string | boolean>>;

const ADDED = {
  family: "evm",
  chain_id: 31337,
  native_asset: { symbol: "ETH", decimals: 18 },
  confirmations: 3,
  reorg_window: 20,
  poll_ms: 100,
  finality: "depth",
  min_confirm_seconds: 0,
};

/** @param networks by id, with what differs from three confirmations, a window of 20 and a poll of 100 ms; `local` is always there */
export async function startStage(networks: Readonly<Record<string, NetworkOverrides>> = {}): Promise<Stage> {
  const settings: Record<string, object> = { local: { poll_ms: 100 } };
  for (const [id, overrides] of Object.entries(networks)) settings[id] = { ...ADDED, ...overrides };
  const proxies = new Map<string, RpcProxy>();
  for (const id of Object.keys(settings)) proxies.set(id, await startRpcProxy());
  const urls = [...proxies].map(([id, proxy]) => [`RPC_${id.toUpperCase().replaceAll("-", "_")}`, proxy.url]);
  const closeProxies = async () => {
    for (const proxy of proxies.values()) await proxy.close();
  };
  const service = await startService({
    environment: { ...Object.fromEntries(urls), NETWORKS: JSON.stringify(settings) },
  }).catch(async (error: unknown) => {
    await closeProxies();
    throw error;
  });
  const operatorToken = service.operatorToken;
  const merchants: Merchant[] = [];
  const chains: Anvil[] = [];
  let earlier = "";

  async function operate(method: string, path: string, body?: unknown) {
    return service.api(method, path, { key: operatorToken, ...(body === undefined ? {} : { body }) });
  }

  async function started(chain: Promise<Anvil>): Promise<Anvil> {
    chains.push(await chain);
    return chain;
  }

  async function open(id: string): Promise<Network> {
    const proxy = proxies.get(id);
    if (proxy === undefined) throw new Error(`the stage has no network ${id}`);
    const chain = await started(startAnvil());
    proxy.setNode(chain.url);
    const view = async () => {
      const { status, body } = await operate("GET", `/v1/operator/networks/${id}`);
      if (status !== 200) throw new Error(`network ${id}: ${status} ${JSON.stringify(body)}`);
      return body as ScannerView;
    };
    return { id, chain, proxy, view, scannedTo: async () => (await view()).scanned_to };
  }

  return {
    service,
    open,
    operate,
    async merchant(name) {
      const merchant = await openMerchant(service, name);
      merchants.push(merchant);
      return merchant;
    },
    async copyOf(chain) {
      const copy = await started(startAnvil());
      await copy.rpc("anvil_loadState", [await chain.rpc<string>("anvil_dumpState", [true])]);
      return copy;
    },
    kill: () => service.kill9(),
    async restart() {
      earlier += service.output();
      await service.restart();
    },
    printed: () => earlier + service.output(),
    secrets: () => [
      operatorToken,
      service.walletSeed,
      ...[...proxies.values()].map(({ secret }) => secret),
      ...merchants.flatMap(({ key, webhookSecret }) => [key, webhookSecret]),
    ],
    async stop() {
      await service.stop();
      await closeProxies();
      for (const merchant of merchants) await merchant.close();
      for (const chain of chains) await chain.stop();
    },
  };
}
