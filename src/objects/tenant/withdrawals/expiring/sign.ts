/**
 * Signs what payments need next: the first transaction of a withdrawal whose funds are reserved, or another one when
 * all before it are dead. Stored in one commit with what it is for; only stored bytes that D1 knows are sent.
 */

import type { ExpiringSigner, SignedExpiring, Unsigned } from "../../../../chains/expiring-payout.ts";
import { NATIVE } from "../../../../core/transfer.ts";
import { isOpen } from "../../../../core/withdrawal.ts";
import {
  changeExpiringPayment,
  type ExpiringPaymentRow,
  expiringAttemptsOf,
  expiringPaymentOf,
  withdrawalsOfExpiringTx,
} from "../../../../store/tenant/expiring-store.ts";
import {
  changeWithdrawal,
  noteTurn,
  type WithdrawalRow,
  withdrawalById,
  withdrawalsInTurn,
} from "../../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { mayStillBePaid } from "../judge.ts";
import { setWaitingOf, walletOf } from "../wallet.ts";
import { beginAttempt, beginPayment } from "./begin.ts";
import { refuseUnsigned } from "./close.ts";
import { make } from "./make.ts";
import { type ExpiringPayer, type Looked, liveOf, openOf, withdrawalOf } from "./payer.ts";
import { openPurse, type Purse } from "./purse.ts";

/** Of one payment. Each lives a minute or so, and after an hour a person is asked. */
export const MAX_ATTEMPTS = 60;
/** Payments of one wallet that may land at the same time. */
const MAX_IN_FLIGHT = 16;
/** Looked at in one round. What the wallet cannot cover is passed over. */
const CANDIDATES = 1_000;
/** Made, or tried to be made, in one round: each is a question to every provider. What is left over is first in the next. */
const MAX_TRIES = 64;
/** A transaction is searched for from the look on that it was signed after: an old one would not know where to begin. */
const FRESH_MS = 30_000;

/** @returns how many events were written */
export async function signPayments(payer: ExpiringPayer, signer: ExpiringSigner, look: Looked): Promise<number> {
  const { c } = payer;
  let live = openOf(payer).reduce((sum, payment) => sum + liveOf(payer, payment).length, 0);
  const wanted = inTurn(payer);
  if (wanted.length === 0 || live >= MAX_IN_FLIGHT) return 0;
  const contracts = [...new Set(wanted.flatMap(({ asset }) => (asset === NATIVE ? [] : [asset])))];
  const purse = await openPurse(payer, contracts);
  let written = 0;
  let tries = 0;
  let isCutShort = true;
  const inVain = new Set<string>();
  try {
    for (const row of wanted) {
      if (tries >= MAX_TRIES || !isFresh(payer, look)) return written;
      if (live >= MAX_IN_FLIGHT || walletOf(payer).status === "stopped") break;
      if (!isCovered(payer, row, purse)) continue;
      tries++;
      inVain.add(row.id);
      const { isMade, events } = await signOne(payer, signer, { row, purse, look });
      written += events;
      if (!isMade) continue;
      inVain.delete(row.id);
      live++;
    }
    isCutShort = false;
  } finally {
    // What cannot be made now must not take the turn of what could be made, round after round.
    if (isCutShort) noteTurn(c.db, [...inVain], c.now());
  }
  return written;
}

/** What is to be signed for, first or anew: who waits longest is first, and who had a turn in vain waits since then. */
function inTurn(payer: ExpiringPayer): WithdrawalRow[] {
  const { c, network } = payer;
  const again = openOf(payer)
    .filter((payment) => isAnotherWanted(payer, payment))
    .map((payment) => withdrawalOf(payer, payment));
  const waitsSince = ({ turnAt, createdAt }: WithdrawalRow) => turnAt ?? createdAt;
  return [...again, ...withdrawalsInTurn(c.db, network.id, CANDIDATES)].sort(
    (a, b) => waitsSince(a) - waitsSince(b) || a.seq - b.seq,
  );
}

/** Nothing of it can land any more, and nobody has decided otherwise. */
export function isAnotherWanted(payer: ExpiringPayer, payment: ExpiringPaymentRow): boolean {
  if (payment.status === "final" || payment.givenUp === 1) return false;
  const row = withdrawalOf(payer, payment);
  const attempts = expiringAttemptsOf(payer.c.db, payment.withdrawalId);
  if (attempts.some(({ status }) => status === "live" || status === "landed")) return false;
  if (!isOpen(row.state) || attempts.length >= MAX_ATTEMPTS) return false;
  return payment.hurried === 1 || (row.state !== "manual_review" && payer.c.now() < payment.deadlineAt);
}

interface Wanted {
  readonly row: WithdrawalRow;
  readonly purse: Purse;
  readonly look: Looked;
}

/** Asked of nobody. */
function isCovered({ c }: ExpiringPayer, row: WithdrawalRow, purse: Purse): boolean {
  const waitingFor = !mayStillBePaid(c, row) ? "policy" : purse.covers(row, 0n) ? null : "wallet_top_up";
  if (waitingFor !== null) setWaitingOf(c, row, waitingFor);
  return waitingFor === null;
}

const UNMADE = { isMade: false, events: 0 };

async function signOne(payer: ExpiringPayer, signer: ExpiringSigner, { row, purse, look }: Wanted) {
  const wait = (waitingFor: string | null) => {
    if (waitingFor !== null) setWaitingOf(payer.c, row, waitingFor);
    return UNMADE;
  };
  const made = await make(payer, signer, row, look);
  switch (made.kind) {
    case "waits":
      return wait(made.waitingFor);
    case "refused":
      // Of one that was signed before, the chain has the last word: the deadline asks a person.
      if (row.nonce !== null) return UNMADE;
      return { isMade: false, events: await refuseUnsigned(payer, row.id, made.detail) };
    case "made": {
      const { feeMostUnits } = made.unsigned;
      if (!purse.covers(row, feeMostUnits)) return wait("wallet_top_up");
      const stored = payer.c.storage.transactionSync(() => store(payer, row.id, made, look));
      if (stored.isMade) purse.promise(row, feeMostUnits);
      return stored;
    }
  }
}

/**
 * The bytes become an attempt only if nothing changed while they were made: one that was called off meanwhile is gone,
 * and so is what today's rules would refuse.
 */
function store(
  payer: ExpiringPayer,
  id: string,
  { unsigned, signed }: { unsigned: Unsigned; signed: SignedExpiring },
  look: Looked,
): { isMade: boolean; events: number } {
  const { c, network, sender, tenantId } = payer;
  const row = withdrawalById(c.db, id);
  if (row === undefined || walletOf(payer).status === "stopped" || !isFresh(payer, look)) return UNMADE;
  const payment = expiringPaymentOf(c.db, id);
  const isWanted = payment === undefined ? isFirstWanted(row) : isAnotherWanted(payer, payment);
  const attempts = expiringAttemptsOf(c.db, id);
  // Made within one moment, equal payments have the same bytes, and one of them would stand for both on the chain: the
  // next moment gives others.
  if (!isWanted || withdrawalsOfExpiringTx(c.db, signed.txId).length > 0) return UNMADE;
  if (!mayStillBePaid(c, row)) {
    setWaitingOf(c, row, "policy");
    return UNMADE;
  }
  const number = (attempts.at(-1)?.number ?? 0) + 1;
  // The provider that prepared it may be wrong about its expiry, and wrong about where the chain stands: others were asked.
  const expiresAt = Math.max(unsigned.expiresAt, payer.chain.landsUntil?.(look.newestPoint) ?? 0);
  if (payment === undefined) beginPayment(payer, id);
  else changeExpiringPayment(c.db, id, { hurried: 0 });
  beginAttempt(payer, {
    withdrawalId: id,
    txId: signed.txId,
    number,
    raw: signed.raw,
    unsigned: unsigned.bytes,
    expiresAt,
    signedAbove: look.finalHeight,
    feeMost: unsigned.feeMostUnits.toString(),
    claimed: 0,
  });
  const commit = new WithdrawalCommit(c, tenantId);
  const waitingFor = row.state === "manual_review" ? row.waitingFor : null;
  const changes = { sender, nonce: number, txId: signed.txId, waitingFor };
  if (row.state === "funds_reserved") {
    const evidence = `${signed.txId}, which expires at ${expiresAt} of ${network.id}`;
    commit.move(row, { to: "broadcast_pending", reason: "transaction_signed", evidence, changes });
  } else {
    changeWithdrawal(c.db, id, changes);
  }
  return { isMade: true, events: commit.written };
}

function isFresh({ c }: ExpiringPayer, { askedAt }: Looked): boolean {
  return c.now() - askedAt < FRESH_MS;
}

function isFirstWanted(row: WithdrawalRow): boolean {
  return row.state === "funds_reserved" && row.nonce === null;
}
