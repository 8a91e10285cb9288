/** What is written down about payments, of every line. Apart from the lines, whose work needs it. */

import type { NetworkSettings } from "../../../core/network.ts";
import type { TenantContext } from "../context.ts";
import { coinRecords } from "./coins/records.ts";
import { expiringRecords } from "./expiring/records.ts";
import { nonceRecords } from "./nonces/records.ts";
import type { PaymentRecords } from "./payout-line.ts";

type PayoutKind = NetworkSettings["payout"]["kind"];

const RECORDS: Record<PayoutKind, PaymentRecords> = {
  nonces: nonceRecords,
  coins: coinRecords,
  expiring: expiringRecords,
};

/** @throws Error for a network that is not known: a row names one that was taken away */
export function recordsOf(c: TenantContext, network: string): PaymentRecords {
  const settings = c.settings.knownNetworks.get(network);
  const records = settings && RECORDS[settings.payout.kind];
  if (records === undefined) throw new Error(`a row names network ${network}, which is not known`);
  return records;
}

export function allRecords(): readonly PaymentRecords[] {
  return Object.values(RECORDS);
}
