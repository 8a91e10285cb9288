/** The tenant's hot wallets as people see them, who signs for them, and how a stopped one goes on. */

import { deriveSigner } from "../../../chains/evm/derived-signer.ts";
import { parseAddress } from "../../../core/address.ts";
import { formatAmount } from "../../../core/amount.ts";
import { refuse } from "../../../core/refusal.ts";
import { NATIVE } from "../../../core/transfer.ts";
import type { Page, WalletView } from "../../../core/views.ts";
import { bindKey, useOfKey } from "../../../store/tenant/key-store.ts";
import { openSlots } from "../../../store/tenant/slot-store.ts";
import {
  changeWallet,
  insertWallet,
  putSigner,
  removeSigner,
  signerRow,
  walletRow,
} from "../../../store/tenant/wallet-store.ts";
import { checkTarget } from "../../../webhooks/target.ts";
import type { Idempotency, SignerChoice } from "../../api.ts";
import { unknownNetwork } from "../addresses.ts";
import { type Done, KEY_REUSED } from "../authorize.ts";
import { allAssets, type TenantContext } from "../context.ts";
import { payoutNodes, walletAddress } from "./signing.ts";

export async function listWallets(c: TenantContext, tenantId: string): Promise<Done<Page<WalletView>>> {
  const networks = [...c.settings.networks.keys()];
  const data = await Promise.all(networks.map((network) => viewOf(c, tenantId, network)));
  return { ok: true, value: { data, next_cursor: null } };
}

export async function chooseSigner(
  c: TenantContext,
  tenantId: string,
  networkId: string,
  choice: SignerChoice,
): Promise<Done<WalletView>> {
  const network = c.settings.networks.get(networkId)?.settings;
  if (network === undefined) return unknownNetwork(networkId);
  if (choice.type === "remote") {
    const target = checkTarget(choice.url, { allowLocal: c.settings.allowLocalWebhooks });
    if (!target.ok)
      return refuse("invalid_fields", "The signer's URL is refused.", {
        errors: [{ path: "url", message: target.detail }],
      });
    const parsed = parseAddress(network.family, choice.address);
    if (!parsed.ok) {
      return refuse("invalid_fields", "The signer's address is refused.", {
        errors: [{ path: "address", message: `not an address of the ${network.family} family` }],
      });
    }
    const busy = busyWallet(c, tenantId, networkId, parsed.address);
    if (busy !== null) return busy;
    const { url, token } = choice;
    c.storage.transactionSync(() => {
      putSigner(c.db, { network: networkId, url, address: parsed.address, token });
      lookAgain(c, tenantId, networkId);
    });
  } else {
    const derived = deriveSigner(c.settings.walletSeed, tenantId, { id: networkId });
    const busy = busyWallet(c, tenantId, networkId, derived.address);
    if (busy !== null) return busy;
    c.storage.transactionSync(() => {
      removeSigner(c.db, networkId);
      lookAgain(c, tenantId, networkId);
    });
  }
  return { ok: true, value: await viewOf(c, tenantId, networkId) };
}

/** Another address only when nothing is in flight from the present one: its nonces would be followed by nobody. */
function busyWallet(c: TenantContext, tenantId: string, network: string, next: string) {
  const sender = walletAddress(c, tenantId, network);
  if (sender === next) return null;
  const open = openSlots(c.db, network, sender).length;
  if (open === 0) return null;
  return refuse("state_conflict", `${open} transactions of ${sender} are not final yet. Change the signer after them.`);
}

export async function resumeWallet(
  c: TenantContext,
  tenantId: string,
  network: string,
  idempotency: Idempotency,
): Promise<Done<WalletView>> {
  if (!c.settings.networks.has(network)) return unknownNetwork(network);
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  const sender = walletAddress(c, tenantId, network);
  if (use.kind === "fresh") {
    c.storage.transactionSync(() => {
      lookAgain(c, tenantId, network);
      changeWallet(c.db, { network, sender }, { status: "active", incident: null });
      bindKey(c.db, idempotency, `${network}/${sender}`);
    });
  }
  return { ok: true, value: await viewOf(c, tenantId, network), replayed: use.kind === "replay" };
}

function lookAgain(c: TenantContext, tenantId: string, network: string): void {
  const sender = walletAddress(c, tenantId, network);
  changeWallet(c.db, insertWallet(c.db, network, sender), { dueAt: c.now() });
}

async function viewOf(c: TenantContext, tenantId: string, network: string): Promise<WalletView> {
  const signer = signerRow(c.db, network);
  const address = walletAddress(c, tenantId, network);
  const row = walletRow(c.db, network, address);
  const open = openSlots(c.db, network, address).filter(({ minedTxId }) => minedTxId === null);
  return {
    network,
    address,
    signer:
      signer === undefined
        ? { type: "derived", path: deriveSigner(c.settings.walletSeed, tenantId, { id: network }).path }
        : { type: "remote", url: new URL(signer.url).origin },
    balances: await balancesOf(c, network, address),
    next_nonce: row === undefined || row.usedBelow === -1 ? null : row.nextNonce,
    in_flight: open.length,
    status: row?.status ?? "active",
    incident: row?.incident ?? null,
  };
}

async function balancesOf(c: TenantContext, network: string, owner: string): Promise<WalletView["balances"]> {
  const assets = allAssets(c, network);
  const contracts = assets.flatMap(({ contract }) => contract ?? []);
  for (const node of payoutNodes(c, network)) {
    try {
      const [native = 0n, ...tokens] = await node.balances(owner, contracts);
      const units = new Map([[NATIVE as string, native], ...contracts.map((at, i) => [at, tokens[i] ?? 0n] as const)]);
      return assets.map(({ symbol, contract, decimals }) => {
        const held = units.get(contract ?? NATIVE) ?? 0n;
        return { asset: symbol, amount: formatAmount(held, decimals), amount_units: held.toString() };
      });
    } catch {
      // The next provider may know.
    }
  }
  return null;
}
