/**
 * One running service for one test file, with networks of its own: each an anvil behind a proxy, so that a
 * test may do to its chain and its provider what it likes.
 */

import { type Anvil, startAnvil } from "./anvil.ts";
import type { ChainOf } from "./oracle.ts";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.ts";
import {
  type Ended,
  type NetworkOverrides,
  type ScannerView,
  type Served,
  type ServedNetwork,
  serve,
  staged,
} from "./served.ts";

export interface Network extends ChainOf {
  readonly chain: Anvil;
  readonly proxy: RpcProxy;
  view(): Promise<ScannerView>;
}

export interface Stage extends Served, Ended {
  /** Starts the network's chain. */
  open(id: string): Promise<Network>;
  /** A second chain that begins as a copy of the first; gone with the stage. */
  copyOf(chain: Anvil): Promise<Anvil>;
}

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
export function startStage(networks: Readonly<Record<string, NetworkOverrides>> = {}): Promise<Stage> {
  return staged(async (ends) => {
    const settings: Record<string, object> = { local: { poll_ms: 100 } };
    for (const [id, overrides] of Object.entries(networks)) settings[id] = { ...ADDED, ...overrides };
    const chains: Anvil[] = [];
    ends.push(async () => {
      for (const chain of chains) await chain.stop();
    });
    const proxies = new Map<string, RpcProxy>();
    ends.push(async () => {
      for (const proxy of proxies.values()) await proxy.close();
    });
    const given: Record<string, ServedNetwork> = {};
    for (const [id, own] of Object.entries(settings)) {
      const proxy = await startRpcProxy();
      proxies.set(id, proxy);
      given[id] = { providers: [proxy], settings: own };
    }
    const served = await serve(ends, given);

    async function started(chain: Promise<Anvil>): Promise<Anvil> {
      chains.push(await chain);
      return chain;
    }

    return {
      ...served,
      async open(id) {
        const proxy = proxies.get(id);
        if (proxy === undefined) throw new Error(`the stage has no network ${id}`);
        const chain = await started(startAnvil());
        proxy.setNode(chain.url);
        const view = () => served.viewOf(id);
        return { id, chain, proxy, view, scannedTo: async () => (await view()).scanned_to };
      },
      async copyOf(chain) {
        const copy = await started(startAnvil());
        await copy.rpc("anvil_loadState", [await chain.rpc<string>("anvil_dumpState", [true])]);
        return copy;
      },
    };
  });
}
