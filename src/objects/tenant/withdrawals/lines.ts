/** Which line pays out on a network: the one place where that is decided. */

import type { NetworkSettings } from "../../../core/network.ts";
import type { Outcome } from "../../../core/refusal.ts";
import { changeWallet, insertWallet } from "../../../store/tenant/wallet-store.ts";
import type { TenantContext } from "../context.ts";
import { coinLine } from "./coins/line.ts";
import { expiringLine } from "./expiring/line.ts";
import { refusedNow, type WithdrawalIntent } from "./intent.ts";
import { nonceLine } from "./nonces/line.ts";
import type { PayoutLine } from "./payout-line.ts";

type PayoutKind = NetworkSettings["payout"]["kind"];

const LINES: Record<PayoutKind, PayoutLine> = { nonces: nonceLine, coins: coinLine, expiring: expiringLine };

/** @throws Error for a network that is not known: whoever asks has looked before */
export function lineOf(c: TenantContext, network: string): PayoutLine {
  const line = findLine(c, network);
  if (line === null) throw new Error(`nothing pays out on network ${network}`);
  return line;
}

/** Null for a network that is not known any more. */
export function findLine(c: TenantContext, network: string): PayoutLine | null {
  const settings = c.settings.knownNetworks.get(network);
  return (settings && LINES[settings.payout.kind]) ?? null;
}

export function allLines(): readonly PayoutLine[] {
  return Object.values(LINES);
}

export function walletAddress(c: TenantContext, tenantId: string, network: string): string {
  return lineOf(c, network).walletAddress(c, tenantId, network);
}

/** Whether it can be asked for now. */
export function refusedByLine(c: TenantContext, tenantId: string, intent: WithdrawalIntent): Outcome<null> {
  const line = lineOf(c, intent.network);
  const isOfWallet = (address: string) => line.isOfWallet(c, tenantId, intent.network, address);
  return refusedNow(c, intent, isOfWallet, line.problemOf(c, intent));
}

/** The wallet in use is looked at now. In the caller's commit. */
export function wakeWallet(c: TenantContext, tenantId: string, network: string): void {
  const sender = walletAddress(c, tenantId, network);
  changeWallet(c.db, insertWallet(c.db, network, sender), { dueAt: c.now() });
}
