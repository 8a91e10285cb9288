/**
 * Providers that differ about a wallet, told to the operator's monitor: no tenant can do anything about it. Nothing is
 * believed for it and nothing waits for it; what is lost is told again by the next look.
 */

import { log } from "../../../log.ts";
import { monitorOf } from "../../monitor-of.ts";
import { soon } from "../../soon.ts";
import type { HotWallet } from "../withdrawals/wallet.ts";

const MONITOR_DEADLINE_MS = 5_000;
const TELL_EVERY_MS = 60_000;

/** @param what in words; null: they agree as far as they say anything */
export function sawLooks({ c, tenantId, network, sender }: HotWallet, what: string | null): void {
  const monitor = what === null ? null : monitorOf(c.env);
  if (monitor === null || what === null) return;
  const mark = `contradiction/${network.id}`;
  const passedMs = c.now() - (c.lookedAt.get(mark) ?? 0);
  if (passedMs >= 0 && passedMs < TELL_EVERY_MS) return;
  c.lookedAt.set(mark, c.now());
  const summary = `Providers of ${network.id} contradict each other.`;
  const evidence = { seen_by: tenantId, wallet: sender, what };
  const about = { kind: "provider_disagreement", subject: network.id, network: network.id } as const;
  const told = monitor.saw([{ ...about, state: "ill", isCertain: false, summary, evidence }]);
  soon(told, MONITOR_DEADLINE_MS).catch((error: unknown) => {
    log("warn", "sighting_not_told", { tenant: tenantId, network: network.id }, error);
  });
}
