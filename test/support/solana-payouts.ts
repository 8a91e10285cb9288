/**
 * What must hold whenever a Solana chain rests after withdrawals, read from the chain: each withdrawal that is called paid
 * was paid by one transaction, no other was, nothing was sent that is not shown, and what the wallet has left is what it
 * was given less that.
 */

import { FEE_ACCOUNT } from "../../src/core/ledger.ts";
import type { LedgerEntryView, WithdrawalView } from "../../src/core/views.ts";
import { isOpen } from "../../src/core/withdrawal.ts";
import type { Merchant } from "./merchant.ts";
import { expectAgreedOn } from "./payouts.ts";
import type { Call } from "./rpc-proxy.ts";
import { SOLANA, type SolanaStage, transactionIn } from "./solana-stage.ts";
import { holding, type TestToken } from "./solana-tokens.ts";

const FUNDED_WITHIN_MS = 30_000;

export interface Funding {
  readonly shop: Merchant;
  /** To its account, and to its hot wallet. */
  readonly lamports: bigint;
  /** Of these as well, to both. */
  readonly tokens?: readonly { readonly token: TestToken; readonly units: bigint }[];
}

/** Pays all of it, and waits until it counts. @param address one that nobody has used */
export async function fund(stage: SolanaStage, fundings: readonly Funding[], address: () => string): Promise<void> {
  const paid = fundings.map(async ({ shop, lamports, tokens = [] }) => {
    const own = await shop.watch({ network: SOLANA, address: address() });
    const wallet = await shop.wallet(SOLANA);
    for (const to of [own.address, wallet.address]) {
      await stage.pay(to, lamports);
      for (const { token, units } of tokens) await stage.pay(to, units, token);
    }
  });
  await Promise.all(paid);
  await stage.finalize();
  const until = Date.now() + FUNDED_WITHIN_MS;
  for (const { shop, tokens = [] } of fundings) {
    while ((await shop.balances()).filter(({ available }) => available !== "0").length < 1 + tokens.length) {
      if (Date.now() > until) throw new Error(`${shop.tenantId} has ${JSON.stringify(await shop.balances())}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Whether a call names signed bytes that pay this one, in coins or in one of these tokens. */
export function pays(destination: string, tokens: readonly TestToken[] = []): (call: Call) => boolean {
  const receivers = [destination, ...tokens.map((token) => holding(token, destination))];
  return (call) => {
    if (call.method !== "sendTransaction" && call.method !== "simulateTransaction") return false;
    const { accounts } = transactionIn(call);
    return receivers.some((receiver) => accounts.includes(receiver));
  };
}

/** Signatures of all that came to either node to be sent to this one, each once, in order. */
export function sentTo({ proxies }: SolanaStage, destination: string, tokens?: readonly TestToken[]): string[] {
  const calls = proxies.flatMap(({ sent }) => sent.map((raw) => ({ method: "sendTransaction", params: [raw] })));
  return [...new Set(calls.filter(pays(destination, tokens)).map((call) => transactionIn(call).txId))];
}

/** Waits until chain, wallet, ledger, states, feed and webhooks say the same. No two withdrawals have one destination. */
export function expectPaidExactly(
  stage: SolanaStage,
  merchants: readonly Merchant[],
  tokens: readonly TestToken[] = [],
): Promise<void> {
  return expectAgreedOn({ id: SOLANA, differences: (...of) => againstChain(stage, tokens, ...of) }, merchants);
}

interface Landed {
  readonly txId: string;
  readonly meta: { readonly err: unknown; readonly preBalances: number[]; readonly postBalances: number[] };
}

async function againstChain(
  stage: SolanaStage,
  tokens: readonly TestToken[],
  merchant: Merchant,
  withdrawals: readonly WithdrawalView[],
  entries: readonly LedgerEntryView[],
): Promise<string[]> {
  const problems: string[] = [];
  const listed = await merchant.call<{ data: { symbol: string; contract: string | null }[] }>("GET", "/v1/assets");
  const fees = entries.filter(({ account }) => account === FEE_ACCOUNT);
  for (const { id, state, asset, destination, amount_units, attempts, tx_id, fee_units } of withdrawals) {
    const landed: Landed[] = [];
    for (const { tx_id: txId } of attempts) {
      const config = { commitment: "finalized", encoding: "base64", maxSupportedTransactionVersion: 1 };
      const found = await stage.rpc<Omit<Landed, "txId"> | null>("getTransaction", [txId, config]);
      if (found !== null && found.meta.err === null) landed.push({ txId, ...found });
    }
    const [only] = landed;
    if (landed.length > 1) problems.push(`I6: ${id} was paid ${landed.length} times`);
    if (state === "confirmed" && only?.txId !== tx_id)
      problems.push(`I6: ${id} was paid by ${only?.txId}, not ${tx_id}`);
    if (!isOpen(state) && state !== "confirmed" && only !== undefined) problems.push(`I9: ${id} is ${state} and paid`);

    const mint = listed.data.find(({ symbol, contract }) => symbol === asset && contract !== null)?.contract ?? null;
    const token = tokens.find((candidate) => candidate.mint === mint);
    const has = await unitsOf(stage, destination, token);
    if (has !== (only === undefined ? 0n : BigInt(amount_units)))
      problems.push(`I6: ${destination} has ${has} of ${asset}`);
    const unknown = sentTo(stage, destination, tokens).filter((txId) => !attempts.some((one) => one.tx_id === txId));
    if (unknown.length > 0) problems.push(`${id}: sent, and not shown: ${unknown}`);

    const spent = only === undefined ? 0 : (only.meta.preBalances[0] ?? 0) - (only.meta.postBalances[0] ?? 0);
    const cost = only === undefined ? null : BigInt(spent) - (mint === null ? BigInt(amount_units) : 0n);
    if (fee_units !== (cost?.toString() ?? null)) problems.push(`${id} cost ${cost}, shown is ${fee_units}`);
    const booked = fees
      .filter(({ cause }) => cause.id === id)
      .map((one) => `${one.from} ${one.to} ${one.amount_units}`);
    if (String(booked) !== (cost === null ? "" : `chain settled ${cost}`)) problems.push(`fee of ${id}: ${booked}`);
  }
  const wallet = await merchant.wallet(SOLANA);
  for (const [symbol, token] of [["SOL", undefined], ...tokens.map((one) => [one.mint, one] as const)] as const) {
    const shown = wallet.balances?.find(
      ({ asset }) => asset === (listed.data.find(({ contract }) => contract === symbol)?.symbol ?? symbol),
    );
    const held = await unitsOf(stage, wallet.address, token);
    if (shown !== undefined && BigInt(shown.amount_units ?? -1) !== held)
      problems.push(`the wallet has ${held} of ${symbol}, shown are ${shown.amount_units}`);
  }
  return problems;
}

/** On top of the newest block. */
export async function unitsOf(stage: SolanaStage, owner: string, token?: TestToken): Promise<bigint> {
  if (token === undefined) return (await stage.account(owner))?.lamports ?? 0n;
  const account = await stage.account(holding(token, owner));
  if (account === null) return 0n;
  return new DataView(Uint8Array.from(account.data).buffer).getBigUint64(64, true);
}
