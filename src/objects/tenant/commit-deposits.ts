/**
 * Commits what was decided about deposits: the deposit's row, its ledger entries and its events, in one
 * synchronous transaction that the caller opened. Either all of a step is kept or none of it.
 */

import { unitsFromText } from "../../core/amount.ts";
import { derivedId } from "../../core/ids.ts";
import {
  type Balance,
  depositConfirmed,
  depositReverted,
  EMPTY_BALANCE,
  type Posting,
  post,
} from "../../core/ledger.ts";
import type { Moved } from "../../core/tallies.ts";
import type { TransferKey } from "../../core/transfer.ts";
import type { BalanceView, DepositStatus, EventType } from "../../core/views.ts";
import { type ChainView, type Decision, nextLook, type Step, type Told } from "../../core/watcher.ts";
import { type DepositRow, depositId } from "../../store/tenant/deposit-store.ts";
import { insertDeposits, updateDeposit } from "../../store/tenant/deposit-write.ts";
import { EventAppender } from "../../store/tenant/event-store.ts";
import {
  appendEntries,
  type BalanceKey,
  type Journal,
  readBalance,
  readBalances,
  writeBalances,
} from "../../store/tenant/ledger-store.ts";
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

export interface Committed {
  /** How many events were written. */
  readonly written: number;
  /** Deposits whose state is another one now. */
  readonly moved: readonly Moved<DepositStatus>[];
  /** When the deposits that were looked at are due. */
  readonly due: readonly Pick<DepositRow, "seq" | "dueHeight" | "dueFinalized">[];
}

export function commitDeposits(commit: Commit, decided: readonly Decided[]): Committed {
  const events = new EventAppender(commit.c.db, commit.tenantId, commit.now);
  const ledger = new CommitLedger(commit, events);
  const fresh: Omit<DepositRow, "seq">[] = [];
  const known: DepositRow[] = [];
  let written = 0;
  const moved: Moved<DepositStatus>[] = [];
  const starts = decided.flatMap((one) => {
    const { told } = one.decision;
    return told === null ? [] : [{ one, told, start: startRow(commit, one, told) }];
  });
  ledger.expect(starts.map(({ start }) => start));
  for (const { one, told, start } of starts) {
    const { steps } = one.decision;
    let row = start;
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
    if (one.before === null) fresh.push(final);
    else known.push(updateDeposit(commit.c.db, one.before, final));
    if (one.before?.status !== final.status) moved.push({ from: one.before?.status ?? null, to: final.status });
  }
  const due = [...insertDeposits(commit.c.db, fresh), ...known];
  events.write();
  ledger.write();
  return { written, moved, due };
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

/** Balances touched by one commit: read once, posted to in memory, and all written at its end. */
class CommitLedger {
  readonly #commit: Commit;
  readonly #events: EventAppender;
  readonly #touched = new Map<string, { key: BalanceKey; balance: Balance }>();
  readonly #known = new Map<string, Balance>();
  readonly #journals: { journal: Journal; postings: readonly Posting[] }[] = [];

  constructor(commit: Commit, events: EventAppender) {
    this.#commit = commit;
    this.#events = events;
  }

  /** Reads the balances that these will probably touch together. */
  expect(rows: readonly BalanceKey[]): void {
    const keys = new Map(rows.map((row) => [nameOf(row), keyOf(row)]));
    for (const name of keys.keys()) this.#known.set(name, EMPTY_BALANCE);
    for (const { key, balance } of readBalances(this.#commit.c.db, [...keys.values()]))
      this.#known.set(nameOf(key), balance);
  }

  post(row: Omit<DepositRow, "seq">, step: Step, eventId: string): void {
    if (step.type !== "confirmed" && step.type !== "reverted") return;
    const { db } = this.#commit.c;
    const key = keyOf(row);
    const name = nameOf(key);
    const before = this.#touched.get(name)?.balance ?? this.#known.get(name) ?? readBalance(db, key);
    const units = unitsFromText(row.amountUnits);
    const postings = step.type === "confirmed" ? depositConfirmed(before, units) : depositReverted(before, units);
    const after = post(before, postings);
    const journal = {
      ...key,
      id: derivedId("jrn", row.id, row.epoch, step.type),
      causeType: `deposit.${step.type}`,
      causeId: row.id,
      eventId,
      at: this.#commit.now,
    };
    this.#journals.push({ journal, postings });
    this.#touched.set(name, { key, balance: after });
    this.#tellDebt(key, before, after);
  }

  write(): void {
    appendEntries(this.#commit.c.db, this.#journals);
    writeBalances(this.#commit.c.db, [...this.#touched.values()]);
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

function keyOf({ account, network, asset }: BalanceKey): BalanceKey {
  return { account, network, asset };
}

function nameOf({ account, network, asset }: BalanceKey): string {
  return JSON.stringify([account, network, asset]);
}
