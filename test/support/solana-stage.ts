/**
 * One running service for one test file, on a development chain of Solana alone: two nodes of a chain in a process of its
 * own, each behind a proxy, are its two providers. Blocks come when they are asked for.
 */

import { base58, base64 } from "@scure/base";
import type { Instruction } from "@solana/kit";
import { getSetComputeUnitLimitInstruction } from "@solana-program/compute-budget";
import { getTransferSolInstruction } from "@solana-program/system";
import { readTransaction, transactionId } from "../../src/chains/solana/transaction.ts";
import { type Call, type RpcProxy, startRpcProxy } from "./rpc-proxy.ts";
import { type Ended, type Served, serve, staged } from "./served.ts";
import type { ChainAccount, ChainBlock } from "./solana-chain.ts";
import { type SolanaKey, signedTransaction, solanaKey } from "./solana-keys.ts";
import type { Order } from "./solana-orders.ts";
import { startSolana } from "./solana-server.ts";
import { checkedTransfer, holding, type MintFacts, openHolding, type TestToken } from "./solana-tokens.ts";

export const SOLANA = "solana-local";
/** Blocks at the top that are not final, as on the main chain. */
export const UNFINAL = 31;
/** Blocks after its signing beyond which no transaction can land, and those that are final only later. */
export const LIFE = 302 + UNFINAL;
const RICH = 10n ** 15n;

export interface SolanaStage extends Served, Ended {
  /** The first is asked first. */
  readonly proxies: readonly [RpcProxy, RpcProxy];
  /** Who pays the merchants, with coins, and with as much of each token as it likes. */
  readonly payer: SolanaKey;
  /** A number: the node at this place. */
  order<Done = unknown>(on: Order["on"], call: string, ...given: readonly unknown[]): Promise<Done>;
  /** What a node says, asked past its proxy: by default the first, of everything it has. */
  rpc<Result>(method: string, params: readonly unknown[]): Promise<Result>;
  /** So many blocks, the first with all that waits. */
  mine(blocks?: number): Promise<ChainBlock>;
  /** Makes final all that waits. */
  finalize(): Promise<void>;
  /** What an account holds on top of the newest block. */
  account(who: string): Promise<ChainAccount | null>;
  /** The payer has of it. It is the faucet's to mint. */
  token(name: string, facts?: MintFacts): Promise<TestToken>;
  /** As a wallet sends it: to a node, signed by the payer and these. @returns its signature */
  send(instructions: readonly Instruction[], signers?: readonly SolanaKey[]): Promise<string>;
  /** From the payer: coins, or tokens into the associated account, which is opened if need be. */
  pay(to: string, units: bigint, token?: TestToken): Promise<string>;
}

/** @param pollMs a wallet with something under way asks both nodes so often */
export function startSolanaStage(pollMs = 100): Promise<SolanaStage> {
  return staged(async (ends) => {
    const chain = await startSolana(2);
    ends.push(() => chain.stop());
    const proxyOf = async (place: number) => {
      const proxy = await startRpcProxy();
      ends.push(() => proxy.close());
      proxy.setNode(chain.urls[place] ?? null);
      return proxy;
    };
    const proxies = [await proxyOf(0), await proxyOf(1)] as const;
    const world = worldOf(chain.urls[0] ?? "", (order) => chain.order(order));
    await world.order("chain", "unfinal", UNFINAL);
    await world.order("chain", "fund", world.payer.address, RICH);
    await world.finalize();
    const served = await serve(ends, { [SOLANA]: { providers: proxies, settings: { poll_ms: pollMs } } });
    return { ...served, ...world, proxies };
  });
}

type World = Omit<SolanaStage, keyof Served | keyof Ended | "proxies">;

function worldOf(url: string, carryOut: (order: Order) => Promise<unknown>): World {
  const payer = solanaKey("payer");
  let made = 0;
  const order: World["order"] = async <Done>(on: Order["on"], call: string, ...given: readonly unknown[]) =>
    (await carryOut({ on, call, with: given })) as Done;
  const mine: World["mine"] = (blocks = 1) => order("chain", "mine", blocks);
  const finalize = async () => void (await mine(UNFINAL + 1));

  async function rpc<Result>(method: string, params: readonly unknown[]): Promise<Result> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const answer = (await response.json()) as {
      readonly result: Result;
      readonly error?: { readonly message: string };
    };
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }

  const send: World["send"] = async (instructions, signers = []) => {
    const { value } = await rpc<{ value: { blockhash: string } }>("getLatestBlockhash", [{ commitment: "finalized" }]);
    // Each another transaction, whatever is paid twice.
    const limit = getSetComputeUnitLimitInstruction({ units: 1_000_000 + ++made });
    const parts = { payer, signers, instructions: [...instructions, limit], blockhash: value.blockhash };
    const raw = base64.encode(signedTransaction(parts));
    return rpc("sendTransaction", [raw, { encoding: "base64", skipPreflight: true }]);
  };

  return {
    payer,
    order,
    rpc,
    mine,
    finalize,
    send,
    account: async (who) => order("chain", "accountAt", who, await order("chain", "head")),
    async token(name, facts = {}) {
      const token = await order<TestToken>("tokens", "putMint", name, facts);
      await order("tokens", "giveTokens", token, payer.address, RICH);
      return token;
    },
    pay(to, amount, token) {
      if (token === undefined)
        return send([getTransferSolInstruction({ source: payer.signer, destination: to as never, amount })]);
      const opened = openHolding({ faucet: payer }, token, to);
      return send([opened, checkedTransfer(token, payer, holding(token, to), amount)]);
    },
  };
}

/** A signed transaction as it came to a node, whatever it was to do with it. */
export function transactionIn({ params }: Call): { readonly txId: string; readonly accounts: readonly string[] } {
  const wire = readTransaction(base64.decode(String(params[0])));
  return { txId: transactionId(wire), accounts: wire.keys.map((key) => base58.encode(key)) };
}
