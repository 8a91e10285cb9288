/** One hot wallet while it is being driven, whatever it is made of: its row, what stops it, what is logged of it. */

import type { NetworkSettings } from "../../../core/network.ts";
import { log } from "../../../log.ts";
import { changeWallet, insertWallet, type WalletRow, walletRow } from "../../../store/tenant/wallet-store.ts";
import { changeWithdrawal, type WithdrawalRow, withdrawalsIn } from "../../../store/tenant/withdrawal-store.ts";
import { soon } from "../../soon.ts";
import type { TenantContext } from "../context.ts";
import { scannerOf } from "../peers.ts";

const SCANNER_DEADLINE_MS = 5_000;

export interface HotWallet {
  readonly c: TenantContext;
  readonly tenantId: string;
  readonly network: NetworkSettings;
  /** The wallet's name in rows: its address, or the one it is topped up at. */
  readonly sender: string;
}

export function walletOf({ c, network, sender }: HotWallet): WalletRow {
  return walletRow(c.db, network.id, sender) ?? insertWallet(c.db, network.id, sender);
}

/** Nothing more is signed or sent from this wallet until a person has looked. The first incident is the one shown. */
export function stopWallet(wallet: HotWallet, incident: string): void {
  const { c, network, sender } = wallet;
  log("error", "wallet_stopped", { network: network.id, sender, incident });
  if (walletOf(wallet).status === "stopped") return;
  changeWallet(c.db, { network: network.id, sender }, { status: "stopped", incident });
}

/** The same, for something that was signed with the wallet's key and is not ours. It is told, whatever stopped it before. */
export function stopForForeignSpend(wallet: HotWallet, incident: string): void {
  stopWallet(wallet, incident);
  const { c, network, sender } = wallet;
  changeWallet(c.db, { network: network.id, sender }, { stoppedFor: "foreign_spend" });
}

/** A person in charge stays in charge: their turn is not taken from them by a lesser wait. */
export function setWaitingOf(c: TenantContext, row: WithdrawalRow | undefined, waitingFor: string | null): void {
  if (row === undefined || row.state === "manual_review" || row.waitingFor === waitingFor) return;
  changeWithdrawal(c.db, row.id, { waitingFor });
}

/** Whether the network may be paid out on: its chain is not in dispute. Who cannot say holds payments back. */
export async function isHalted({ c, network }: HotWallet): Promise<boolean> {
  try {
    return (await soon(scannerOf(c.env, network.id).status(), SCANNER_DEADLINE_MS)).status === "halted";
  } catch (error) {
    log("warn", "wallet_call_failed", { network: network.id, call: "status" }, error);
    return true;
  }
}

export function isAnyReserved({ c, network }: HotWallet): boolean {
  return withdrawalsIn(c.db, network.id, ["funds_reserved"], 1).length > 0;
}

/** What of a network's withdrawals the chain is watched for. */
export function isAnyTracked({ c, network }: HotWallet): boolean {
  return withdrawalsIn(c.db, network.id, ["broadcast_pending", "confirmation_tracking"], 1).length > 0;
}

/** @param what a fault of the call, or in words what is not as it should be */
export function logProvider(wallet: HotWallet, call: string, node: string | undefined, what: unknown): void {
  const { network, tenantId } = wallet;
  const facts = { tenant: tenantId, network: network.id, node, call };
  if (typeof what === "string") log("warn", "provider_failed", { ...facts, message: what });
  else log("warn", "provider_failed", facts, what);
}
