/** The tenant's hot wallets as people see them, who signs for them, and how a stopped one goes on. */

import { type Outcome, refuse } from "../../../core/refusal.ts";
import type { Page, WalletView } from "../../../core/views.ts";
import { bindKey, useOfKey } from "../../../store/tenant/key-store.ts";
import { changeWallet, putSigner, removeSigner, walletRow } from "../../../store/tenant/wallet-store.ts";
import type { Idempotency, SignerChoice } from "../../api.ts";
import { unknownNetwork } from "../addresses.ts";
import type { Audited } from "../audited-call.ts";
import { type Done, KEY_REUSED } from "../authorize.ts";
import type { TenantContext } from "../context.ts";
import { lineOf, wakeWallet, walletAddress } from "./lines.ts";

export async function listWallets(c: TenantContext, tenantId: string): Promise<Done<Page<WalletView>>> {
  const networks = [...c.settings.networks.keys()];
  const views = await Promise.all(networks.map((network) => viewOf(c, tenantId, network)));
  // One that cannot be shown yet would be topped up before anybody looks.
  const data = views.flatMap((view) => (view.ok ? [view.value] : []));
  return { ok: true, value: { data, next_cursor: null } };
}

/**
 * In the wallet's own turn: nothing is signed by one while the other is put in its place.
 * @param onDue called in the turn of the commit, before any provider is asked: the wallet is to be looked at
 */
export function chooseSigner(
  c: TenantContext,
  tenantId: string,
  network: string,
  choice: SignerChoice,
  audit: Audited,
  onDue: () => void,
): Promise<Done<WalletView>> {
  return c.turns.take(`wallet/${network}`, async () => {
    const settings = c.settings.networks.get(network)?.settings;
    if (settings === undefined) return unknownNetwork(network);
    const proven = await lineOf(c, network).provenSigner(c, tenantId, settings, choice);
    if (!proven.ok) return proven;
    const { row, address } = proven.value;
    const busy = busyWallet(c, tenantId, network, address);
    if (busy !== null) return busy;
    c.storage.transactionSync(() => {
      if (row === null) removeSigner(c.db, network);
      else putSigner(c.db, row);
      wakeWallet(c, tenantId, network);
      audit.done();
    });
    onDue();
    return viewOf(c, tenantId, network);
  });
}

/** Another address only when nothing is in flight from the present one: its nonces would be followed by nobody. */
function busyWallet(c: TenantContext, tenantId: string, network: string, next: string) {
  const sender = walletAddress(c, tenantId, network);
  if (sender === next) return null;
  const open = lineOf(c, network).inFlight(c, network, sender);
  if (open === 0) return null;
  return refuse("state_conflict", `${open} transactions of ${sender} are not final yet. Change the signer after them.`);
}

/** @param onDue as for `chooseSigner` */
export async function resumeWallet(
  c: TenantContext,
  tenantId: string,
  network: string,
  idempotency: Idempotency,
  audit: Audited,
  onDue: () => void,
): Promise<Done<WalletView>> {
  if (!c.settings.networks.has(network)) return unknownNetwork(network);
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  const sender = walletAddress(c, tenantId, network);
  if (use.kind === "fresh") {
    c.storage.transactionSync(() => {
      wakeWallet(c, tenantId, network);
      changeWallet(c.db, { network, sender }, { status: "active", incident: null, stoppedFor: null });
      lineOf(c, network).resumed(c, network, sender);
      bindKey(c.db, idempotency, `${network}/${sender}`);
      audit.done();
    });
    onDue();
  }
  const view = await viewOf(c, tenantId, network);
  return view.ok ? { ...view, replayed: use.kind === "replay" } : view;
}

async function viewOf(c: TenantContext, tenantId: string, network: string): Promise<Outcome<WalletView>> {
  const view = await lineOf(c, network).walletView(c, tenantId, network);
  if (!view.ok) return view;
  const row = walletRow(c.db, network, view.value.address);
  return { ok: true, value: { ...view.value, status: row?.status ?? "active", incident: row?.incident ?? null } };
}
