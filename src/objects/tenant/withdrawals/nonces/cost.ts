/** What a payment with a nonce would cost now, and what would keep it from being made. */

import { gasLimitFor, transferCall } from "../../../../chains/evm/intent.ts";
import { firstFees, mostPerGas, perGasNow } from "../../../../core/fees.ts";
import { NATIVE } from "../../../../core/transfer.ts";
import type { WithdrawalIntent } from "../intent.ts";
import type { Cost } from "../payout-line.ts";
import { capOf, estimateOf, type Payer, quoteOf } from "./payer.ts";

/** What a transfer usually takes, for when the wallet's state keeps a provider from saying: it may be empty. */
const USUAL_GAS = { native: 21_000n, token: 65_000n };

export async function costOf(payer: Payer, intent: WithdrawalIntent): Promise<Cost | null> {
  const quote = await quoteOf(payer);
  if (quote === null) return null;
  const { asset } = intent.asset;
  const call = transferCall(asset, payer.sender, intent.destination, intent.amountUnits);
  const estimate = await estimateOf(payer, call);
  const usual = asset === NATIVE ? USUAL_GAS.native : USUAL_GAS.token;
  const gas = estimate === null || estimate.ok === false ? usual : estimate.gas;
  const price = firstFees(quote, capOf(payer, "first"));
  const most = (gasLimitFor(gas) ?? gas) * (price.ok ? mostPerGas(price.fees) : price.neededPerGas);
  const short = await shortage(payer, intent, most);
  const reverts = estimate?.ok === false ? `It would revert now: ${estimate.detail}` : null;
  const dear = price.ok ? null : "Fees are above the network's cap now.";
  return { now: gas * perGasNow(quote), most, warning: short ?? reverts ?? dear };
}

/** What the hot wallet lacks, in words; null: nothing that any provider knows of. */
async function shortage(payer: Payer, { asset, amountUnits }: WithdrawalIntent, fee: bigint): Promise<string | null> {
  const isNative = asset.asset === NATIVE;
  const [held] = await Promise.allSettled(
    payer.nodes.slice(0, 1).map((node) => node.balances(payer.sender, isNative ? [] : [asset.asset])),
  );
  if (held?.status !== "fulfilled") return null;
  const [coins, tokens] = held.value;
  const isShort = isNative ? (coins ?? 0n) < amountUnits + fee : (coins ?? 0n) < fee || (tokens ?? 0n) < amountUnits;
  return isShort ? `The hot wallet ${payer.sender} cannot cover it and its fee: it must be topped up.` : null;
}
