/**
 * Spends compared with D1 and the chain: what was signed is what was approved, what was mined still is, every coin
 * that a spend uses is claimed for it, every withdrawal for its pinned output, and no coin was spent by somebody else.
 */

import { readSigned } from "../../../../chains/bitcoin/signed-spend.ts";
import type { SpendIntent, UnspentCoin } from "../../../../chains/coin-payout.ts";
import { larger, unitsFromText } from "../../../../core/amount.ts";
import { type AgreedCoins, agreeOnCoins, agreeOnUnspent } from "../../../../core/coin-look.ts";
import { coinText } from "../../../../core/coins.ts";
import { difference } from "../../../../core/reconciliation.ts";
import { newsOfSpend } from "../../../../core/spend.ts";
import type { DifferenceView } from "../../../../core/views.ts";
import { log } from "../../../../log.ts";
import { StoreFault } from "../../../../store/d1/deadline.ts";
import { type OutputClaimRow, readMemberClaims, readOutputClaims } from "../../../../store/d1/spends.ts";
import { coinAt, freeCoins } from "../../../../store/tenant/coin-store.ts";
import {
  allOpenSpends,
  inputAt,
  inputsOf,
  memberOf,
  membersOf,
  type SpendAttemptRow,
  type SpendInputRow,
  type SpendRow,
  spendAt,
  spendAttemptsOf,
} from "../../../../store/tenant/spend-store.ts";
import { type WithdrawalRow, withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import { uniqueBy } from "../compare-scope.ts";
import type { Findings } from "../findings.ts";
import type { ComparedScope } from "../payout-line.ts";
import { changePath } from "./addresses.ts";
import { paymentOf } from "./allocate.ts";
import { toCoin } from "./choosable.ts";
import { deepOf, pinOf, pinText } from "./payer.ts";
import { coinNetwork, coinNodes, coinSigner } from "./signing.ts";

/** Spends, and free coins, of one network that are compared with the chain. */
const MAX_COMPARED = 200;
/** Signed inputs read back for one report: each one costs the check of a signature. */
const MAX_INPUTS_READ = 500;

interface NetworkScope {
  readonly network: string;
  readonly spends: readonly SpendRow[];
  readonly inputs: readonly SpendInputRow[];
  /** Coins that no spend has. */
  readonly free: readonly { readonly txId: string; readonly vout: number; readonly height: number }[];
}

interface Told {
  readonly scope: NetworkScope;
  /** Null: D1 does not answer. */
  readonly claims: readonly OutputClaimRow[] | null;
  readonly members: ReadonlyMap<string, string> | null;
  /** Null: too few providers answer. */
  readonly look: AgreedCoins | null;
  readonly unspent: ReadonlyMap<string, UnspentCoin | null>;
}

/** As `PayoutLine.compare`. */
export async function compareSpends(
  c: TenantContext,
  tenantId: string,
  { withdrawals, isOwn }: ComparedScope,
  findings: Findings,
): Promise<() => void> {
  const ofWithdrawals = withdrawals.flatMap((row) => spendOf(c, row) ?? []);
  const all = uniqueBy([...allOpenSpends(c.db), ...ofWithdrawals], spendName).slice(0, MAX_COMPARED);
  const networks = new Set([...all.map(({ network }) => network), ...[...c.settings.networks.keys()].filter(isOwn)]);
  const scopes = [...networks].map((network) => scopeOf(c, network, all));
  compareAttempts(c, tenantId, all, findings);
  const told = await Promise.all(scopes.map((scope) => ask(c, tenantId, scope, findings)));
  return () => {
    for (const one of told) compareOne(c, tenantId, one, findings);
  };
}

function scopeOf(c: TenantContext, network: string, all: readonly SpendRow[]): NetworkScope {
  const spends = all.filter((spend) => spend.network === network);
  const inputs = spends
    .flatMap((spend) => inputsOf(c.db, spend))
    .filter(({ claimed, status }) => claimed === 1 && status !== "freed");
  return { network, spends, inputs, free: freeCoins(c.db, network).slice(0, MAX_COMPARED) };
}

async function ask(c: TenantContext, tenantId: string, scope: NetworkScope, findings: Findings): Promise<Told> {
  const { network, spends, inputs, free } = scope;
  const nodes = coinNodes(c, network);
  const pins = spends.flatMap((spend) =>
    spend.minedHeight === null ? [] : [{ ref: pinOf(spend), from: spend.minedHeight }],
  );
  const ids = spends.flatMap((spend) => membersOf(c.db, spend).map(({ withdrawalId }) => withdrawalId));
  const isAsked = nodes.length > 0 && (pins.length > 0 || free.length > 0);
  const [claims, looks, coins] = await Promise.all([
    readClaims(c, tenantId, network, inputs, ids),
    Promise.allSettled(isAsked ? nodes.map((node) => node.look({ pins, heights: [] })) : []),
    Promise.allSettled(isAsked && free.length > 0 ? nodes.map((node) => node.unspent(free)) : []),
  ]);
  if (claims === null) findings.unreachable.add("d1");
  const look = agreeOnCoins(answersOf(network, looks), nodes.length);
  if (look === null && (isAsked || spends.length > 0)) findings.unreachable.add(`chain:${network}`);
  const unspent = agreeOnUnspent(answersOf(network, coins), nodes.length);
  return { scope, claims: claims?.outputs ?? null, members: claims?.members ?? null, look, unspent };
}

async function readClaims(
  c: TenantContext,
  tenantId: string,
  network: string,
  inputs: readonly SpendInputRow[],
  ids: readonly string[],
) {
  if (inputs.length === 0 && ids.length === 0) return { outputs: [], members: new Map<string, string>() };
  try {
    const { DB } = c.env;
    return {
      outputs: await readOutputClaims(DB, network, inputs),
      members: await readMemberClaims(DB, ids),
    };
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    log("warn", "reconciliation_incomplete", { tenant: tenantId }, error);
    return null;
  }
}

function answersOf<T>(network: string, settled: readonly PromiseSettledResult<T>[]): T[] {
  return settled.flatMap((one) => {
    if (one.status === "fulfilled") return [one.value];
    log("warn", "reconciliation_incomplete", { network }, one.reason);
    return [];
  });
}

/** In one turn, after the answers. What changed while they were given is left to the next report. */
function compareOne(c: TenantContext, tenantId: string, told: Told, findings: Findings): void {
  const { scope, claims, members, look, unspent } = told;
  const byCoin = new Map(claims?.map((claim) => [coinText(claim), claim]));
  for (const before of scope.inputs) {
    const now = inputAt(c.db, before);
    const spend = now && spendAt(c.db, now);
    if (claims === null || spend === undefined || now?.status === "freed") continue;
    const name = `${scope.network}/${coinText(before)}`;
    const claim = byCoin.get(coinText(before));
    const found = claim === undefined ? "no claim" : `${claim.pin} of ${claim.tenantId}`;
    const kind = claim === undefined ? "coin_claim_missing" : "coin_claim_differs";
    findings.compared("coins", difference(kind, name, `${pinText(spend)} of ${tenantId}`, found));
  }
  for (const spend of scope.spends) {
    if (spend.claimed === 1 && members !== null) compareMembers(c, spend, members, findings);
    if (look !== null) compareMined(c, spend, look, findings);
  }
  for (const coin of scope.free) {
    const key = { network: scope.network, txId: coin.txId, vout: coin.vout };
    if (coinAt(c.db, key) === undefined || inputAt(c.db, key) !== undefined) continue;
    const said = unspent.get(coinText(coin));
    const isDeep = look !== null && look.head - coin.height + 1 >= deepOf(coinNetwork(c, scope.network));
    if (said === undefined || !isDeep) continue;
    const found = said === null ? "spent by somebody else" : "there";
    findings.compared("free_coins", difference("foreign_spend", `${scope.network}/${coinText(coin)}`, "there", found));
  }
}

function compareMembers(
  c: TenantContext,
  spend: SpendRow,
  pins: ReadonlyMap<string, string>,
  findings: Findings,
): void {
  for (const { withdrawalId } of membersOf(c.db, spend)) {
    const found = pins.get(withdrawalId) ?? "no claim";
    const kind = pins.has(withdrawalId) ? "spend_claim_differs" : "spend_claim_missing";
    findings.compared("spends", difference(kind, withdrawalId, pinText(spend), found));
  }
}

/** What is written down as mined is mined there, unless its block may still be replaced. */
function compareMined(c: TenantContext, before: SpendRow, look: AgreedCoins, findings: Findings): void {
  const spend = spendAt(c.db, before);
  const { minedHeight: height, minedBlockHash: blockHash, minedTxId } = before;
  if (spend === undefined || height === null || blockHash === null || spend.minedBlockHash !== blockHash) return;
  const { reorgWindow } = coinNetwork(c, before.network);
  if (look.head < height) return;
  const expected = `${minedTxId} in block ${height} ${blockHash}`;
  const attempts = spendAttemptsOf(c.db, before);
  const news = newsOfSpend({ pin: pinOf(before), attempts, mined: null }, look, reorgWindow);
  const isReplaceable = look.head - height + 1 <= reorgWindow;
  if (news.kind === "waiting" || news.kind === "unmined") {
    if (isReplaceable) return;
    findings.compared("receipts", difference("receipt_missing", spendName(before), expected, "none"));
    return;
  }
  const { txId, height: foundHeight, blockHash: foundHash } = news.spender;
  const found = `${txId} in block ${foundHeight} ${foundHash}`;
  if (found !== expected && isReplaceable) return;
  findings.compared("receipts", difference("receipt_differs", spendName(before), expected, found));
}

/** Rows of attempts never change, and neither does what a withdrawal pays: they are compared as they are met. */
function compareAttempts(c: TenantContext, tenantId: string, spends: readonly SpendRow[], findings: Findings): void {
  let read = 0;
  for (const spend of spends) {
    if (read > MAX_INPUTS_READ) return;
    read += compareAttemptsOf(c, tenantId, spend, findings);
  }
}

/** @returns how many inputs were read */
function compareAttemptsOf(c: TenantContext, tenantId: string, spend: SpendRow, findings: Findings): number {
  const attempts = spendAttemptsOf(c.db, spend);
  let inputs = 0;
  for (const [i, attempt] of attempts.entries()) {
    inputs += attempt.inputs.length;
    const intent = intentOf(c, tenantId, spend, attempt);
    // An input that was given back since is known no more.
    if (intent === null) continue;
    const before = attempts.slice(0, i).map(({ feeUnits }) => unitsFromText(feeUnits));
    const replacedUnits = before.length === 0 ? null : before.reduce(larger);
    const read = readSigned(attempt.raw, intent, { network: coinNetwork(c, spend.network), replacedUnits });
    findings.compared("attempts", differenceOf(spend, attempt, read));
  }
  return inputs;
}

function differenceOf(
  spend: SpendRow,
  attempt: SpendAttemptRow,
  read: ReturnType<typeof readSigned>,
): DifferenceView[] {
  const name = `attempt ${attempt.attempt} of ${spendName(spend)}`;
  if (!read.ok) return difference("attempt_differs", spendName(spend), `${name}: what was approved`, read.problem);
  return difference("attempt_differs", spendName(spend), `${name}: ${attempt.txId}`, `${name}: ${read.signed.txId}`);
}

function intentOf(c: TenantContext, tenantId: string, spend: SpendRow, attempt: SpendAttemptRow): SpendIntent | null {
  const known = new Map(inputsOf(c.db, spend).map((row) => [coinText(row), toCoin(row)]));
  const inputs = attempt.inputs.flatMap((text) => known.get(text) ?? []);
  const rows = attempt.pays.flatMap((id) => withdrawalById(c.db, id) ?? []);
  if (inputs.length < attempt.inputs.length || rows.length < attempt.pays.length) return null;
  const signer = coinSigner(c, tenantId, spend.network);
  if (signer.address !== spend.sender) return null;
  const path = changePath(spend.number);
  const change = attempt.outputs[attempt.pays.length];
  return {
    inputs,
    payments: rows.map(paymentOf),
    change:
      change === undefined ? null : { path, address: signer.addressAt(path), amountUnits: unitsFromText(change[1]) },
  };
}

function spendOf(c: TenantContext, row: WithdrawalRow): SpendRow | undefined {
  const member = memberOf(c.db, row.id);
  return member && spendAt(c.db, member);
}

function spendName({ network, pinTxId, pinVout }: SpendRow): string {
  return `${network}/${pinTxId}:${pinVout}`;
}
