/**
 * Withdrawals and their slots with the chain: what was mined is mined as it was written down, every nonce that was
 * used is accounted for, and what was signed is what was approved.
 */

import { burnCall } from "../../../../chains/evm/intent.ts";
import { readSigned } from "../../../../chains/evm/signed-transaction.ts";
import type { Intent, PayoutNode } from "../../../../chains/payout.ts";
import { countsNonces } from "../../../../core/network.ts";
import { compareMined, difference, foreignNonces } from "../../../../core/reconciliation.ts";
import type { DifferenceView } from "../../../../core/views.ts";
import { type AgreedLook, agree } from "../../../../core/wallet-look.ts";
import { log } from "../../../../log.ts";
import {
  type AttemptRow,
  attemptsOf,
  firstNonce,
  knownNonces,
  type SlotRow,
  slotAt,
} from "../../../../store/tenant/slot-store.ts";
import { stepsOf, type WithdrawalRow, withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import { RESOLVED } from "../commit.ts";
import type { Findings } from "../findings.ts";
import type { WalletClaims } from "./compare-claims.ts";
import { type NonceScope, slotName, slotOf, type WalletScope } from "./compare-scope.ts";
import { callOf } from "./payer.ts";
import { payoutNodes } from "./signing.ts";

/** Receipts asked for in one look. */
const HASHES_PER_LOOK = 50;
/** Signed transactions decoded for one report: each one costs a recovery of its signer. */
const MAX_ATTEMPTS_READ = 500;

export interface WalletLooks {
  readonly wallet: WalletScope;
  /** As the first look has it: transactions of the wallet that are mined. */
  readonly used: number;
  /** By the hash that was asked for. */
  readonly looks: ReadonlyMap<string, AgreedLook>;
}

/** Looks at every wallet that has something to show. Networks that do not answer are written down. */
export async function lookAtWallets(c: TenantContext, scope: NonceScope, findings: Findings): Promise<WalletLooks[]> {
  const looked = await Promise.all(
    scope.wallets.map(async (wallet): Promise<WalletLooks | null> => {
      const { network, sender } = wallet;
      const own = scope.slots.filter((slot) => slot.network === network && slot.sender === sender);
      const nodes = payoutNodes(c, network);
      // A network that was switched off at rest is missed by nobody.
      if (own.length === 0 && (wallet.slots.length === 0 || nodes.length === 0)) return null;
      const looks = await lookAtWallet(nodes, wallet, own);
      if (looks === null) findings.unreachable.add(`chain:${network}`);
      return looks;
    }),
  );
  return looked.filter((looks) => looks !== null);
}

/** @returns null when too few providers answer, or the network is off */
async function lookAtWallet(
  nodes: readonly PayoutNode[],
  wallet: WalletScope,
  slots: readonly SlotRow[],
): Promise<WalletLooks | null> {
  const hashes = slots.flatMap(({ minedTxId }) => minedTxId ?? []);
  const looks = new Map<string, AgreedLook>();
  let used: number | null = null;
  for (let at = 0; at === 0 || at < hashes.length; at += HASHES_PER_LOOK) {
    const chunk = hashes.slice(at, at + HASHES_PER_LOOK);
    const question = { sender: wallet.sender, hashes: chunk, heights: [] };
    const answers = await Promise.allSettled(nodes.map((node) => node.look(question)));
    for (const [i, answer] of answers.entries()) {
      if (answer.status === "rejected") logNode(wallet.network, nodes[i]?.name, answer.reason);
    }
    const told = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    const look = agree(told, nodes.length);
    if (look === null) return null;
    used ??= look.nonceLatest;
    for (const hash of chunk) looks.set(hash, look);
  }
  return { wallet, used: used ?? 0, looks };
}

function logNode(network: string, node: string | undefined, error: unknown): void {
  log("warn", "reconciliation_incomplete", { network, node, call: "look" }, error);
}

/** In one turn, after the looks. What changed while they were made is left to the next report. */
export function compareReceipts(
  c: TenantContext,
  scope: NonceScope,
  looked: readonly WalletLooks[],
  findings: Findings,
): void {
  const looks = new Map(looked.flatMap((wallet) => [...wallet.looks]));
  for (const before of scope.withdrawals) {
    const row = withdrawalById(c.db, before.id);
    if (row === undefined || row.updatedAt !== before.updatedAt || row.state !== before.state) continue;
    compareSlot(c, row, slotOf(c, row), looks, findings);
  }
  for (const before of scope.slots) {
    if (before.withdrawalId !== null) continue;
    compareSlot(c, null, slotAt(c.db, before), looks, findings);
  }
}

function compareSlot(
  c: TenantContext,
  row: WithdrawalRow | null,
  slot: SlotRow | undefined,
  looks: ReadonlyMap<string, AgreedLook>,
  findings: Findings,
): void {
  const mined = minedOf(slot);
  // Mined after the looks, or nobody could be asked.
  const look = mined === null ? NOTHING_SEEN : looks.get(mined.txId);
  if (look === undefined) return;
  const attempt = slot && attemptsOf(c.db, slot).find(({ txId }) => txId === mined?.txId);
  const subject = row?.id ?? (slot && slotName(slot)) ?? "";
  const claims = row === null ? null : claimsOf(c, row, mined !== null);
  const found = compareMined({ subject, mined, kind: attempt?.kind ?? "payment", claims }, look);
  if (found !== null) findings.compared("receipts", found);
}

const NOTHING_SEEN = { head: -1, finalHeight: -1, receipts: new Map() };

function minedOf(slot: SlotRow | undefined) {
  if (slot === undefined) return null;
  const { minedTxId: txId, minedHeight: height, minedBlockHash: blockHash } = slot;
  return txId === null || height === null || blockHash === null ? null : { txId, height, blockHash };
}

/** What the chain must bear out. A person may have settled what the chain does not show. */
function claimsOf(c: TenantContext, row: WithdrawalRow, isMined: boolean): "paid" | "not_paid" | null {
  const reason = stepsOf(c.db, row.id).findLast(({ to }) => to === row.state)?.reason;
  switch (row.state) {
    case "confirmed":
      return reason === RESOLVED ? null : "paid";
    case "failed":
      // Refused before a nonce was its own: the chain knows nothing of it.
      if (row.nonce === null) return null;
      return reason === RESOLVED && !isMined ? null : "not_paid";
    default:
      return null;
  }
}

/** Nonces that the chain used up without a slot here or a claim of anybody. */
export function compareUsed(
  c: TenantContext,
  { wallet, used }: WalletLooks,
  { claims, readBelow }: WalletClaims,
  findings: Findings,
): void {
  const { network, sender, from } = wallet;
  const starts = [firstNonce(c.db, network, sender), [...claims.keys()][0] ?? null].filter((nonce) => nonce !== null);
  const first = Math.max(from, Math.min(...starts));
  const below = Math.min(used, readBelow);
  if (!Number.isFinite(first) || first >= below) return;
  const known = knownNonces(c.db, network, sender, first, below);
  findings.count("used_nonces", below - first);
  findings.found(foreignNonces(`${network}/${sender}`, first, below, (nonce) => known.has(nonce) || claims.has(nonce)));
}

/** Rows of attempts never change, and neither does what a withdrawal pays: they are compared as they are met. */
export async function compareAttempts(c: TenantContext, slots: readonly SlotRow[], findings: Findings): Promise<void> {
  let read = 0;
  for (const slot of slots) {
    for (const attempt of attemptsOf(c.db, slot)) {
      if (++read > MAX_ATTEMPTS_READ) return;
      findings.compared("attempts", await compareAttempt(c, slot, attempt));
    }
  }
}

async function compareAttempt(c: TenantContext, slot: SlotRow, attempt: AttemptRow): Promise<DifferenceView[]> {
  const subject = slot.withdrawalId ?? slotName(slot);
  const name = `attempt ${attempt.number} of ${slotName(slot)}`;
  const intent = intentOf(c, slot, attempt);
  if (intent === null) return difference("attempt_differs", subject, `${name}: a withdrawal to pay`, "none");
  const signed = await readSigned(attempt.raw, intent);
  if (!signed.ok) return difference("attempt_differs", subject, `${name}: what was approved`, signed.problem);
  return difference("attempt_differs", subject, `${name}: ${attempt.txId}`, `${name}: ${signed.signed.txId}`);
}

/** What was approved, with the fees that this attempt offers; null when there is no such thing. */
function intentOf(c: TenantContext, slot: SlotRow, attempt: AttemptRow): Intent | null {
  const { sender, nonce } = slot;
  const network = c.settings.knownNetworks.get(slot.network);
  const row = slot.withdrawalId === null ? undefined : withdrawalById(c.db, slot.withdrawalId);
  const call = attempt.kind === "burn" ? burnCall(sender) : row && callOf({ sender }, row);
  if (network === undefined || !countsNonces(network) || call === undefined) return null;
  const most = BigInt(attempt.mostPerGas);
  return {
    ...call,
    chainId: network.chainId,
    nonce,
    gasLimit: BigInt(attempt.gasLimit),
    fees:
      attempt.tipPerGas === null
        ? { kind: "legacy", gasPrice: most }
        : { kind: "eip1559", maxFeePerGas: most, maxPriorityFeePerGas: BigInt(attempt.tipPerGas) },
  };
}
