/**
 * One running service for one test file, on regtest alone: two real nodes, each behind a proxy of its own, are its two
 * providers. The nodes begin connected, with coins to pay with.
 */

import { type Bitcoind, startBitcoind } from "./bitcoind.ts";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.ts";
import { type Ended, type NetworkOverrides, type ScannerView, type Served, serve, staged } from "./served.ts";

export const REGTEST = "bitcoin-regtest";

export interface Provider {
  readonly node: Bitcoind;
  readonly proxy: RpcProxy;
}

export interface BitcoinStage extends Served, Ended {
  /** Asked first. */
  readonly first: Provider;
  readonly second: Provider;
  view(): Promise<ScannerView>;
  /** What each provider shows from now on; null: nothing. By default its own node. */
  show(first: Bitcoind | null, second: Bitcoind | null): void;
}

/** What a reorganisation may reach back: the least that the network takes. */
export const WINDOW = 101;
const GROWN = 110;

export function startBitcoinStage(overrides: NetworkOverrides = {}): Promise<BitcoinStage> {
  return staged(async (ends) => {
    async function provider(): Promise<Provider> {
      const [node, proxy] = await Promise.all([startBitcoind(), startRpcProxy({ login: true })]);
      ends.push(() => node.stop());
      ends.push(() => proxy.close());
      proxy.setNode(node.url);
      return { node, proxy };
    }
    const [first, second] = await Promise.all([provider(), provider()]);
    await first.node.mine(GROWN);
    await first.node.connect(second.node);
    const settings = { confirmations: 2, reorg_window: WINDOW, poll_ms: 100, ...overrides };
    const served = await serve(ends, { [REGTEST]: { providers: [first.proxy, second.proxy], settings } });
    return {
      ...served,
      first,
      second,
      view: () => served.viewOf(REGTEST),
      show(one, other) {
        first.proxy.setNode(one?.url ?? null);
        second.proxy.setNode(other?.url ?? null);
      },
    };
  });
}
