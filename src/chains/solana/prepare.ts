/**
 * Making a transaction that can land from now on: what it costs, whether it can be paid, its limits and its blockhash.
 *
 * The blockhash is a final one: every node knows it, no fork takes it back, and its shorter life is no loss, as another
 * transaction is only signed when this one is provably dead.
 */

import { bytesToHex } from "@noble/hashes/utils";
import { larger, smaller } from "../../core/amount.ts";
import { toBase64 } from "../../core/base64.ts";
import type { FeePart } from "../../core/fee-kind.ts";
import { NATIVE } from "../../core/transfer.ts";
import type { ExpiringCost, ExpiringIntent, Prepared } from "../expiring-payout.ts";
import { ChainFault } from "../port.ts";
import type { RpcClient } from "../rpc/client.ts";
import { MalformedAnswer, parseList, parseObject } from "../rpc/malformed.ts";
import { isMethodMissing } from "../rpc/rpc-failure.ts";
import { ask, FINALIZED, faultOf, parseContext, parseCount, parseHash, parseLamports } from "./answers.ts";
import { associatedAccountBytes, readAccounts, readMint } from "./mint.ts";
import { type PaymentForm, paymentMessage, priceWithin, priorityUnits, SIGNATURE_UNITS } from "./payment.ts";
import { associatedAccount } from "./program-address.ts";
import {
  coinsProblem,
  destinationProblem,
  type Refusal,
  type RentRules,
  refused,
  type TouchedAccounts,
  tokensProblem,
  walletShort,
} from "./receiver.ts";

/**
 * A transaction lands up to so many blocks after the one its blockhash is of: its age is counted from the parent of the block
 * that takes it, and may be 150. What nodes call the last valid height is one less.
 */
const BLOCKHASH_BLOCKS = 151;
/** A provider that promises it a longer life than this is wrong, and would let a payment wait for ever. */
const MAX_LIFE_BLOCKS = 1_000;
/** What a payment is worth while nobody pays more, and the units of each kind before it is simulated. */
const LEAST_PRICE = 1_000n;
const USUAL_LIMITS = { coins: 1_000, tokens: 10_000, opening: 40_000 };
/** Simulated use, a quarter more, and a little: what an account's address costs to find differs by its bump. */
const limitFor = (units: number) => Math.ceil(units * 1.25) + 500;
/** While it is measured. */
const MAX_UNITS = 1_400_000;
const CONFIRMED = "confirmed";

/** @throws ChainFault, MalformedAnswer */
export async function prepare(rpc: RpcClient, intent: ExpiringIntent): Promise<Prepared> {
  const assessed = await assess(rpc, intent);
  if (assessed.refusal !== null) return assessed.refusal;
  const { form: usual, rentUnits } = assessed;
  const poor = shortOf(intent, assessed, SIGNATURE_UNITS + rentUnits);
  if (poor !== null) return poor;
  const { blockhash, expiresAt } = await youngBlockhash(rpc);
  const measured = await measure(rpc, intent, { ...usual, unitLimit: MAX_UNITS, unitPrice: 0n }, blockhash);
  if (typeof measured !== "number") return measured;
  const unitLimit = limitFor(measured);
  const allowed = intent.maxFeeUnits - SIGNATURE_UNITS - rentUnits;
  const highest = priceWithin(allowed, unitLimit);
  const form = { ...usual, unitLimit, unitPrice: smaller(usual.unitPrice, highest) };
  const feeMostUnits = SIGNATURE_UNITS + priorityUnits(form) + rentUnits;
  const short = shortOf(intent, assessed, feeMostUnits);
  if (short !== null) return short;
  const bytes = bytesToHex(paymentMessage(intent, form, blockhash));
  return { ok: true, unsigned: { bytes, expiresAt, feeMostUnits } };
}

/** @throws ChainFault, MalformedAnswer */
export async function estimateCost(rpc: RpcClient, intent: ExpiringIntent): Promise<ExpiringCost> {
  const assessed = await assess(rpc, intent);
  const { form, rentUnits } = assessed;
  // What is offered to be taken sooner is cut to the cap.
  const priority = smaller(priorityUnits(form), larger(intent.maxFeeUnits - SIGNATURE_UNITS - rentUnits, 0n));
  const parts: FeePart[] = [
    { kind: "signature", quantity: null, units: SIGNATURE_UNITS },
    { kind: "priority", quantity: null, units: priority },
  ];
  if (rentUnits > 0n) parts.push({ kind: "token_account", quantity: null, units: rentUnits });
  const nowUnits = SIGNATURE_UNITS + priority + rentUnits;
  const problem = assessed.refusal ?? shortOf(intent, assessed, nowUnits);
  return { nowUnits, mostUnits: intent.maxFeeUnits, parts, warning: problem === null ? null : problem.detail };
}

/** A program, a mint or a token account in the place of an owner. @throws ChainFault, MalformedAnswer */
export async function destinationRefusal(rpc: RpcClient, intent: ExpiringIntent): Promise<string | null> {
  const { accounts } = await readAccounts(rpc, [intent.destination], CONFIRMED);
  return destinationProblem(intent, accounts[0] ?? null)?.detail ?? null;
}

interface Assessed {
  /** Why it cannot be paid now, the wallet's coins aside; null: nothing that is known. */
  readonly refusal: Refusal | null;
  readonly form: PaymentForm;
  /** What the receiver's token account costs; zero when there is one. */
  readonly rentUnits: bigint;
  readonly accounts: TouchedAccounts;
  readonly rent: RentRules;
}

async function assess(rpc: RpcClient, intent: ExpiringIntent): Promise<Assessed> {
  const [accounts, tokenProgram] = await touchedAccounts(rpc, intent);
  const isToken = intent.asset !== NATIVE;
  const opensAccount = isToken && accounts.target === null;
  const rent = await rentRules(rpc, accounts);
  const unitPrice = await usualPrice(rpc, intent, tokenProgram);
  const unitLimit = !isToken ? USUAL_LIMITS.coins : opensAccount ? USUAL_LIMITS.opening : USUAL_LIMITS.tokens;
  const rentUnits = opensAccount ? rent.tokenAccount : 0n;
  const form = { tokenProgram, opensAccount, unitLimit, unitPrice };
  const least = SIGNATURE_UNITS + rentUnits;
  const refusal =
    destinationProblem(intent, accounts.destination) ??
    (isToken ? tokensProblem(intent, accounts) : coinsProblem(intent, accounts, rent)) ??
    (least > intent.maxFeeUnits ? feeAboveCap(least, intent.maxFeeUnits) : null);
  return { refusal, form, rentUnits, accounts, rent };
}

function feeAboveCap(least: bigint, cap: bigint): Refusal {
  return { ok: false, reason: "fee_above_cap", detail: `it costs ${least} lamports at least, ${cap} are allowed` };
}

/** What is left must be enough for the wallet to go on existing: it could be emptied, but only to the lamport. */
function shortOf(intent: ExpiringIntent, { accounts, rent }: Assessed, feeUnits: bigint): Refusal | null {
  const held = accounts.sender?.units ?? 0n;
  const left = held - feeUnits - (intent.asset === NATIVE ? intent.amountUnits : 0n);
  if (left >= rent.empty) return null;
  return walletShort(`the wallet has ${held} lamports, and ${left} would be left: it must keep ${rent.empty}`);
}

async function touchedAccounts(
  rpc: RpcClient,
  { sender, destination, asset }: ExpiringIntent,
): Promise<[TouchedAccounts, tokenProgram: string | null]> {
  const nothing = { mint: null, source: null, target: null };
  const whom = [sender, destination, ...(asset === NATIVE ? [] : [asset])];
  const first = (await readAccounts(rpc, whom, CONFIRMED)).accounts;
  const [from, to, mint] = [first[0] ?? null, first[1] ?? null, first[2] ?? null];
  const program = mint === null ? null : (readMint(mint)?.program ?? null);
  if (program === null) return [{ sender: from, destination: to, ...nothing, mint }, null];
  const holdings = [sender, destination].map((owner) => associatedAccount(owner, program, asset));
  const { accounts } = await readAccounts(rpc, holdings, CONFIRMED);
  const [source, target] = [accounts[0] ?? null, accounts[1] ?? null];
  return [{ sender: from, destination: to, mint, source, target }, program];
}

async function rentRules(rpc: RpcClient, { destination, mint }: TouchedAccounts): Promise<RentRules> {
  const token = mint === null ? null : readMint(mint);
  const sizes = [0, destination?.data.length ?? 0, token === null ? 0 : associatedAccountBytes(token)];
  const calls = sizes.map((size) => ({ method: "getMinimumBalanceForRentExemption", params: [size] }));
  const { answers } = await rpc.batch(calls);
  const [empty, receiver, tokenAccount] = answers.map((answer) => {
    if (!answer.ok) throw faultOf(rpc, "rent-exempt minimum", answer.failure);
    return parseLamports(answer.result, "rent-exempt minimum");
  });
  return { empty: empty ?? 0n, destination: receiver ?? 0n, tokenAccount: tokenAccount ?? 0n };
}

/** Three quarters of the recent blocks took less for writing to these accounts. */
async function usualPrice(rpc: RpcClient, intent: ExpiringIntent, tokenProgram: string | null): Promise<bigint> {
  const { sender, destination, asset } = intent;
  const owners = [sender, destination];
  const holdings = tokenProgram === null ? owners : owners.map((who) => associatedAccount(who, tokenProgram, asset));
  const written = [...new Set([sender, ...holdings])];
  const answer = await rpc.call("getRecentPrioritizationFees", [written]);
  if (!answer.ok && isMethodMissing(answer.failure)) return LEAST_PRICE;
  if (!answer.ok) throw faultOf(rpc, "priority fees", answer.failure);
  const prices = parseList(answer.result, "priority fees")
    .map((item) => parseCount(parseObject(item, "priority fee").prioritizationFee, "priority fee"))
    .sort((a, b) => a - b);
  const price = BigInt(prices[Math.floor((prices.length - 1) * 0.75)] ?? 0);
  return price > LEAST_PRICE ? price : LEAST_PRICE;
}

/**
 * The last height at which it can land is never taken for lower than it is: the provider's word, or what follows from the
 * newest block it has, whichever is later. A blockhash that is final is of a block below that one.
 */
async function youngBlockhash(rpc: RpcClient): Promise<{ readonly blockhash: string; readonly expiresAt: number }> {
  const answer = await ask(rpc, "getLatestBlockhash", [{ commitment: FINALIZED }]);
  const fields = parseObject(parseContext(answer, "blockhash").value, "blockhash");
  const blockhash = parseHash(fields.blockhash, "blockhash");
  const stated = parseCount(fields.lastValidBlockHeight, "last valid height");
  const head = parseCount(await ask(rpc, "getBlockHeight", [{ commitment: "processed" }]), "height");
  if (stated > head + MAX_LIFE_BLOCKS) {
    throw new ChainFault(
      `${rpc.name}: a blockhash is said to live until ${stated}, the head is ${head}`,
      true,
      rpc.name,
    );
  }
  return { blockhash, expiresAt: Math.max(stated + 1, head + BLOCKHASH_BLOCKS) };
}

/** Compute units that it takes on top of the newest blocks, or why it would fail. */
async function measure(
  rpc: RpcClient,
  intent: ExpiringIntent,
  form: PaymentForm,
  blockhash: string,
): Promise<number | Refusal> {
  const message = paymentMessage(intent, form, blockhash);
  // One signature of zeros: not looked at.
  const raw = toBase64(Uint8Array.of(1, ...new Uint8Array(64), ...message));
  const simulated = await simulateOn(rpc, raw, { sigVerify: false });
  if (simulated === null) throw new ChainFault(`${rpc.name} does not simulate transactions`, true, rpc.name);
  if (simulated.ok) return simulated.units;
  // Said of the node's state, and not of the payment.
  if (/BlockhashNotFound/.test(simulated.detail))
    throw new ChainFault(`${rpc.name}: ${simulated.detail}`, true, rpc.name);
  return refused(simulated.detail);
}

export type Simulated = { readonly ok: true; readonly units: number } | { readonly ok: false; readonly detail: string };

/** @throws ChainFault, MalformedAnswer */
export async function simulateOn(rpc: RpcClient, raw: string, config: { sigVerify: boolean }): Promise<Simulated> {
  const params = [raw, { ...config, commitment: CONFIRMED, encoding: "base64", replaceRecentBlockhash: false }];
  const { value } = parseContext(await ask(rpc, "simulateTransaction", params), "simulation");
  const { err, logs, unitsConsumed } = parseObject(value, "simulation");
  if (err === undefined) throw new MalformedAnswer("simulation", "err, null or not", "none");
  if (err === null) return { ok: true, units: parseCount(unitsConsumed, "simulated units") };
  const last = Array.isArray(logs) ? logs.at(-1) : undefined;
  return { ok: false, detail: rpc.clean(`${JSON.stringify(err)}${typeof last === "string" ? `: ${last}` : ""}`) };
}
