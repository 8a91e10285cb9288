/**
 * One running service for one test file, on regtest alone: two real nodes, each behind a proxy of its own, are its two
 * providers. The nodes begin connected, with coins to pay with. All that was printed is kept, over every restart.
 */

import { type Bitcoind, startBitcoind } from "./bitcoind.ts";
import { type Merchant, openMerchant } from "./merchant.ts";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.ts";
import { type Service, startService } from "./service.ts";
import type { NetworkOverrides, ScannerView } from "./stage.ts";

export const REGTEST = "bitcoin-regtest";

export interface Provider {
  readonly node: Bitcoind;
  readonly proxy: RpcProxy;
}

export interface BitcoinStage {
  readonly service: Service;
  /** Asked first. */
  readonly first: Provider;
  readonly second: Provider;
  merchant(name: string): Promise<Merchant>;
  /** As the operator sees the network. */
  view(): Promise<ScannerView>;
  /** What each provider shows from now on; null: nothing. By default its own node. */
  show(first: Bitcoind | null, second: Bitcoind | null): void;
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

/** What a reorganisation may reach back: the least that the network takes. */
export const WINDOW = 101;
const GROWN = 110;

export async function startBitcoinStage(overrides: NetworkOverrides = {}): Promise<BitcoinStage> {
  const ends: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  async function provider(): Promise<Provider> {
    const [node, proxy] = await Promise.all([startBitcoind(), startRpcProxy({ login: true })]);
    ends.push(() => node.stop());
    ends.push(() => proxy.close());
    proxy.setNode(node.url);
    return { node, proxy };
  }
  try {
    const [first, second] = await Promise.all([provider(), provider()]);
    await first.node.mine(GROWN);
    await first.node.connect(second.node);
    const settings = { confirmations: 2, reorg_window: WINDOW, poll_ms: 100, ...overrides };
    const service = await startService({
      environment: {
        RPC_LOCAL: "",
        RPC_BITCOIN_REGTEST: [first, second].map(({ proxy }) => proxy.url).join(","),
        NETWORKS: JSON.stringify({ [REGTEST]: settings }),
      },
    });
    ends.push(() => service.stop());
    return stageOf({ service, first, second, ends, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Begun extends Pick<BitcoinStage, "service" | "first" | "second" | "stop"> {
  readonly ends: (() => Promise<void>)[];
}

function stageOf({ service, first, second, ends, stop }: Begun): BitcoinStage {
  const merchants: Merchant[] = [];
  let earlier = "";
  return {
    service,
    first,
    second,
    async merchant(name) {
      const merchant = await openMerchant(service, name);
      merchants.push(merchant);
      ends.unshift(() => merchant.close());
      return merchant;
    },
    async view() {
      const { status, body } = await service.api("GET", `/v1/operator/networks/${REGTEST}`, {
        key: service.operatorToken,
      });
      if (status !== 200) throw new Error(`the scanner: ${status} ${JSON.stringify(body)}`);
      return body as ScannerView;
    },
    show(one, other) {
      first.proxy.setNode(one?.url ?? null);
      second.proxy.setNode(other?.url ?? null);
    },
    kill: () => service.kill9(),
    async restart() {
      earlier += service.output();
      await service.restart();
    },
    printed: () => earlier + service.output(),
    secrets: () => [
      service.operatorToken,
      service.walletSeed,
      first.proxy.secret,
      second.proxy.secret,
      ...merchants.flatMap(({ key, webhookSecret }) => [key, webhookSecret]),
    ],
    stop,
  };
}
