/**
 * Commits what was decided about deposits: the deposit's row, its ledger entries and its events, in one
 * synchronous transaction that the caller opened. Either all of a step is kept or none of it.
 */

import { unitsFromText } from "../../core/amount.ts";
import { derivedId } from "../../core/ids.ts";
import { type Balance, depositConfirmed, depositReverted, post } from "../../core/ledger.ts";
import type { TransferKey } from "../../core/transfer.ts";
import type { BalanceView, EventType } from "../../core/views.ts";
import { type ChainView, type Decision, nextLook, type Step, type Told } from "../../core/watcher.ts";
import { type DepositRow, depositId, putDeposit } from "../../store/tenant/deposit-store.ts";
import { EventAppender } from "../../store/tenant/event-store.ts";
import { appendEntries, type BalanceKey, readBalance, writeBalance } from "../../store/tenant/ledger-store.ts";
import { toBalanceView } from "./balance-view.ts";
import type { AssetFacts, TenantContext } from "./context.ts";
import { toDepositView } from "./deposit-view.ts";

export interface Decided {
  readonly key: TransferKey;
  readonly before: DepositRow | null;
  readonly decision: Decision;
  readonly backfillId: string | null;
}

export interface Commit {
  readonly c: TenantContext;
  readonly tenantId: string;
  readonly network: string;
  readonly view: ChainView;
  readonly settlesBy: { readonly finality: "depth" | "tag"; readonly reorgWindow: number };
  readonly now: number;
  /** The end customer an address belongs to. */
  readonly accountOf: (address: string) => string;
  readonly assetOf: (asset: string) => AssetFacts;
}

const EVENT_OF: Record<Step["type"], EventType> = {
  pending: "deposit.pending",
  dropped: "deposit.dropped",
  confirmed: "deposit.confirmed",
  reverted: "deposit.reverted",
  settled: "deposit.settled",
};

/** @returns how many events were written, and when the deposits that were written are due */
export function commitDeposits(
  commit: Commit,
  decided: readonly Decided[],
): { readonly events: number; readonly due: readonly Pick<DepositRow, "seq" | "dueHeight" | "dueFinalized">[] } {
  const events = new EventAppender(commit.c.db, commit.tenantId, commit.now);
  const ledger = new CommitLedger(commit, events);
  const due: Pick<DepositRow, "seq" | "dueHeight" | "dueFinalized">[] = [];
  let written = 0;
  for (const one of decided) {
    const { told, steps } = one.decision;
    if (told === null) continue;
    let row = startRow(commit, one, told);
    for (const step of steps) {
      const settledBefore = step.type === "settled" && row.settledAt !== null;
      row = withStep(commit, row, step);
      // A person had reopened it, and it stands: it is settled once more, and once was told.
      if (settledBefore) continue;
      const view = toDepositView(row, commit.assetOf(row.asset), commit.view.head);
      const event =
        row.events === null
          ? events.append(EVENT_OF[step.type], row.id, view)
          : events.appendToDeposit(EVENT_OF[step.type], row.id, row.events, view);
      if (row.events !== null) row = { ...row, events: [...row.events, event.sequence] };
      ledger.post(row, step, event.id);
      written++;
    }
    const look = nextLook(told, commit.view, commit.settlesBy);
    const final = { ...row, ...columnsOf(told), dueHeight: look.height, dueFinalized: look.finalized };
    due.push({ ...final, seq: putDeposit(commit.c.db, one.before, final) });
  }
  ledger.flush();
  events.flush();
  return { events: written, due };
}

/** The row a deposit starts this commit with. Its id is derived from its key: a repeat meets itself. */
function startRow(commit: Commit, { key, before, backfillId }: Decided, told: Told): Omit<DepositRow, "seq"> {
  if (before !== null) return before;
  return {
    id: depositId(commit.tenantId, commit.network, key),
    network: commit.network,
    txId: key.txId,
    transferIndex: key.transferIndex,
    account: commit.accountOf(told.address),
    ...columnsOf(told),
    dueHeight: null,
    dueFinalized: null,
    createdAt: commit.now,
    confirmedAt: null,
    revertedAt: null,
    settledAt: null,
    backfillId,
    events: [],
  };
}

function withStep(commit: Commit, row: Omit<DepositRow, "seq">, step: Step): Omit<DepositRow, "seq"> {
  const { now } = commit;
  // A payment that came back under the same key may pay another receiver: the account follows it.
  const account = step.type === "pending" ? commit.accountOf(step.told.address) : row.account;
  const next = { ...row, ...columnsOf(step.told), account };
  switch (step.type) {
    case "pending":
      return { ...next, confirmedAt: null, revertedAt: null, settledAt: null };
    case "confirmed":
      return { ...next, confirmedAt: now };
    case "reverted":
      return { ...next, revertedAt: now };
    case "settled":
      return { ...next, settledAt: now };
    case "dropped":
      return next;
  }
}

function columnsOf(told: Told) {
  return {
    address: told.address,
    asset: told.asset,
    amountUnits: told.amountUnits.toString(),
    status: told.status,
    epoch: told.epoch,
    rule: String(told.rule),
    leastDepth: told.leastDepth ?? 1,
    memo: told.memo ?? null,
    height: told.height,
    blockHash: told.blockHash,
    timestampS: told.timestamp,
  };
}

/** Balances touched by one commit: read once, posted to in memory, written once. */
class CommitLedger {
  readonly #commit: Commit;
  readonly #events: EventAppender;
  readonly #touched = new Map<string, { key: BalanceKey; balance: Balance }>();

  constructor(commit: Commit, events: EventAppender) {
    this.#commit = commit;
    this.#events = events;
  }

  post(row: Omit<DepositRow, "seq">, step: Step, eventId: string): void {
    if (step.type !== "confirmed" && step.type !== "reverted") return;
    const { db } = this.#commit.c;
    const key = { account: row.account, network: row.network, asset: row.asset };
    const name = JSON.stringify([key.account, key.network, key.asset]);
    const before = this.#touched.get(name)?.balance ?? readBalance(db, key);
    const units = unitsFromText(row.amountUnits);
    const postings = step.type === "confirmed" ? depositConfirmed(before, units) : depositReverted(before, units);
    const after = post(before, postings);
    appendEntries(
      db,
      {
        ...key,
        id: derivedId("jrn", row.id, row.epoch, step.type),
        causeType: `deposit.${step.type}`,
        causeId: row.id,
        eventId,
        at: this.#commit.now,
      },
      postings,
    );
    this.#touched.set(name, { key, balance: after });
    this.#tellDebt(key, before, after);
  }

  flush(): void {
    for (const { key, balance } of this.#touched.values()) writeBalance(this.#commit.c.db, key, balance);
  }

  #tellDebt(key: BalanceKey, before: Balance, after: Balance): void {
    const opened = before.debt === 0n && after.debt > 0n;
    const cleared = before.debt > 0n && after.debt === 0n;
    if (!opened && !cleared) return;
    const asset: AssetFacts = this.#commit.assetOf(key.asset);
    const data: BalanceView = toBalanceView(key.account, asset, after);
    this.#events.append(opened ? "account.debt_opened" : "account.debt_cleared", `account:${key.account}`, data);
  }
}
