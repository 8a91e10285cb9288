/**
 * One running service for one test file, on TRON alone: one chain in memory that begins as the main chain does, whose
 * contracts run in an anvil, behind two providers. Blocks come when a test asks for them.
 */

import { tronAddress, tronHex } from "../../src/core/tron-address.ts";
import type { Hex } from "./anvil.ts";
import type { Merchant } from "./merchant.ts";
import { type Ended, type NetworkOverrides, type ScannerView, type Served, serve, staged } from "./served.ts";
import type { Contract } from "./tokens.ts";
import { TronChain } from "./tron-chain.ts";
import { TronNodeDouble } from "./tron-double.ts";
import { startTronServer, type TronServer } from "./tron-server.ts";
import { startTronVm, type TronVm } from "./tron-vm.ts";

export const TRON = "tron";
export const TRX = 1_000_000n;
/** A block is solid under so many others. */
export const UNSOLID = 18;
const GROWN = 100;
const BLOCK_MS = 3_000;
const FUNDED_WITHIN_MS = 30_000;

export interface Provider {
  readonly node: TronNodeDouble;
  readonly server: TronServer;
}

export interface Funding {
  readonly shop: Merchant;
  /** Whole TRX and tokens, to its account and to its hot wallet, each. */
  readonly trx: number;
  readonly tokens?: number;
}

export interface TronStage extends Served, Ended {
  readonly chain: TronChain;
  readonly vm: TronVm;
  /** A token of six decimals, and its contract's address as TRON spells it. */
  readonly token: Contract;
  readonly tokenAddress: string;
  /** Asked first. */
  readonly first: Provider;
  readonly second: Provider;
  mine(blocks?: number): Promise<void>;
  /** Mines a block with all that waits, and what makes it solid. */
  settle(): Promise<void>;
  /** A token transfer of the faucet's for the next block. */
  payTokens(to: string, units: bigint, memo?: string): void;
  /** Pays all of it, and waits until it counts. */
  fund(fundings: readonly Funding[]): Promise<void>;
  view(): Promise<ScannerView>;
}

export function startTronStage(overrides: NetworkOverrides = {}): Promise<TronStage> {
  return staged(async (ends) => {
    const vm = await startTronVm();
    ends.push(() => vm.stop());
    const chain = TronChain.main(Date.now() - GROWN * BLOCK_MS);
    chain.unsolid = UNSOLID;
    chain.mine(GROWN);
    const token = await vm.deploy("Token", ["Dollar", "USDX", 6]);
    await token.send("mint", [`0x${chain.faucet.hex}`, 10n ** 15n]);
    const provider = async (): Promise<Provider> => {
      const node = new TronNodeDouble(chain, vm);
      const server = await startTronServer(node);
      ends.push(() => server.close());
      return { node, server };
    };
    const [first, second] = [await provider(), await provider()];
    const settings = { poll_ms: 100, ...overrides };
    const served = await serve(ends, { [TRON]: { providers: [first.server, second.server], settings } });
    return { ...served, ...worldOf(chain, vm, token), first, second, view: () => served.viewOf(TRON) };
  });
}

type World = Omit<TronStage, keyof Served | keyof Ended | "first" | "second" | "view">;

function worldOf(chain: TronChain, vm: TronVm, token: Contract): World {
  const mine = (blocks = 1) => chain.mineWith(vm, blocks);
  const settle = async () => {
    await mine();
    await mine(UNSOLID);
  };
  const payTokens = (to: string, units: bigint, memo = "") => {
    const data = token.encode("transfer", [`0x${tronHex(to)}`, units]).slice(2);
    chain.trigger(chain.faucet, token.address.slice(2), data, { data: Buffer.from(memo).toString("hex") });
  };

  async function fund(fundings: readonly Funding[]): Promise<void> {
    for (const { shop, trx, tokens = 0 } of fundings) {
      const { address } = await shop.watch({ network: TRON, address: freshTronAddress() });
      const wallet = await shop.wallet(TRON);
      for (const to of [address, wallet.address]) chain.pay(to, BigInt(trx) * TRX);
      if (tokens === 0) continue;
      payTokens(address, BigInt(tokens) * TRX);
      await token.send("mint", [`0x${tronHex(wallet.address)}`, BigInt(tokens) * TRX]);
    }
    await settle();
    const until = Date.now() + FUNDED_WITHIN_MS;
    for (const { shop, trx, tokens = 0 } of fundings) {
      for (;;) {
        const has = new Map((await shop.balances()).map(({ asset, available }) => [asset, Number(available)]));
        if (has.get("TRX") === trx && (has.get("USDX") ?? 0) === tokens) break;
        if (Date.now() > until) throw new Error(`${shop.tenantId} has ${JSON.stringify([...has])}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  return { chain, vm, token, tokenAddress: tronAddress(token.address.slice(2)), mine, settle, payTokens, fund };
}

let addresses = 0;

/** Nothing was ever paid to it. The same ones in each run. */
export function freshTronAddress(): string {
  addresses += 1;
  return tronAddress((0xf00d_0000_0000 + addresses).toString(16).padStart(40, "7"));
}

/** What the contract's state says now. */
export async function tokensOf({ token }: Pick<TronStage, "token">, address: string): Promise<bigint> {
  return BigInt(await token.read<bigint>("balanceOf", [`0x${tronHex(address)}` satisfies Hex]));
}
