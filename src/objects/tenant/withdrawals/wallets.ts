/** The tenant's hot wallets as people see them, who signs for them, and how a stopped one goes on. */

import { burnCall } from "../../../chains/evm/intent.ts";
import { readSigned } from "../../../chains/evm/signed-transaction.ts";
import { type Intent, SignerFault } from "../../../chains/payout.ts";
import { addressProblem, parseAddress } from "../../../core/address.ts";
import { formatAmount } from "../../../core/amount.ts";
import type { EvmNetwork } from "../../../core/network.ts";
import { type Outcome, refuse } from "../../../core/refusal.ts";
import { NATIVE } from "../../../core/transfer.ts";
import type { Page, WalletView } from "../../../core/views.ts";
import { bindKey, useOfKey } from "../../../store/tenant/key-store.ts";
import { attemptsOf, changeSlot, openSlots } from "../../../store/tenant/slot-store.ts";
import {
  changeWallet,
  insertWallet,
  putSigner,
  removeSigner,
  type SignerRow,
  signerRow,
  walletRow,
} from "../../../store/tenant/wallet-store.ts";
import { checkTarget } from "../../../webhooks/target.ts";
import type { Idempotency, SignerChoice } from "../../api.ts";
import { unknownNetwork } from "../addresses.ts";
import { type Done, KEY_REUSED } from "../authorize.ts";
import { allAssets, type TenantContext } from "../context.ts";
import { derivedSigner, payoutNodes, remote, sealToken, walletAddress } from "./signing.ts";

/** EIP-2681 allows it, and no wallet gets there. */
const UNREACHABLE_NONCE = 2 ** 52;
const PROOF_FEES = { kind: "eip1559", maxFeePerGas: 1n, maxPriorityFeePerGas: 1n } as const;

export async function listWallets(c: TenantContext, tenantId: string): Promise<Done<Page<WalletView>>> {
  const networks = [...c.settings.networks.keys()];
  const data = await Promise.all(networks.map((network) => viewOf(c, tenantId, network)));
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
  onDue: () => void,
): Promise<Done<WalletView>> {
  return c.turns.take(`wallet/${network}`, async () => {
    const settings = c.settings.networks.get(network)?.settings;
    if (settings?.family !== "evm") return unknownNetwork(network);
    const row = choice.type === "derived" ? null : await provenSigner(c, tenantId, settings, choice);
    if (row !== null && !row.ok) return row;
    const next = row === null ? derivedSigner(c, tenantId, network).address : row.value.address;
    const busy = busyWallet(c, tenantId, network, next);
    if (busy !== null) return busy;
    c.storage.transactionSync(() => {
      if (row === null) removeSigner(c.db, network);
      else putSigner(c.db, row.value);
      lookAgain(c, tenantId, network);
    });
    onDue();
    return { ok: true, value: await viewOf(c, tenantId, network) };
  });
}

/**
 * A signer shows that it has the key before it is believed: otherwise anybody could name somebody else's
 * wallet, and use up its nonces here. It signs a transfer of nothing at a nonce that no wallet ever reaches.
 */
async function provenSigner(
  c: TenantContext,
  tenantId: string,
  network: EvmNetwork,
  { url, address: text, token }: Extract<SignerChoice, { type: "remote" }>,
): Promise<Outcome<SignerRow>> {
  const no = (path: string, message: string) =>
    refuse("invalid_fields", `The signer's ${path} is refused.`, { errors: [{ path, message }] });
  const target = checkTarget(url, { allowLocal: c.settings.allowLocalWebhooks });
  if (!target.ok) return no("url", target.detail);
  const parsed = parseAddress(network, text);
  if (!parsed.ok) return no("address", addressProblem(network, parsed.reason));
  const { address } = parsed;
  const intent: Intent = {
    ...burnCall(address),
    chainId: network.chainId,
    nonce: UNREACHABLE_NONCE,
    gasLimit: 21_000n,
    fees: network.payout.feeModel === "legacy" ? { kind: "legacy", gasPrice: 1n } : PROOF_FEES,
  };
  try {
    const signer = remote(c, { url, address }, async () => token);
    const read = await readSigned(await signer.sign(intent), intent);
    if (!read.ok) return no("url", read.problem);
    const sealed = await sealToken(c, tenantId, network.id, token);
    return { ok: true, value: { network: network.id, url, address, ...sealed } };
  } catch (error) {
    if (error instanceof SignerFault)
      return no("url", `it did not sign a transaction to prove its key: ${error.message}`);
    throw error;
  }
}

/** Another address only when nothing is in flight from the present one: its nonces would be followed by nobody. */
function busyWallet(c: TenantContext, tenantId: string, network: string, next: string) {
  const sender = walletAddress(c, tenantId, network);
  if (sender === next) return null;
  const open = openSlots(c.db, network, sender).length;
  if (open === 0) return null;
  return refuse("state_conflict", `${open} transactions of ${sender} are not final yet. Change the signer after them.`);
}

/** @param onDue as for `chooseSigner` */
export async function resumeWallet(
  c: TenantContext,
  tenantId: string,
  network: string,
  idempotency: Idempotency,
  onDue: () => void,
): Promise<Done<WalletView>> {
  if (!c.settings.networks.has(network)) return unknownNetwork(network);
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  const sender = walletAddress(c, tenantId, network);
  if (use.kind === "fresh") {
    c.storage.transactionSync(() => {
      lookAgain(c, tenantId, network);
      changeWallet(c.db, { network, sender }, { status: "active", incident: null });
      // What stopped it is tried again with more, not with the same.
      for (const slot of openSlots(c.db, network, sender)) {
        const isHeld = attemptsOf(c.db, slot).at(-1)?.outcome === "replacement_underpriced";
        if (isHeld) changeSlot(c.db, slot, { speedUp: 1 });
      }
      bindKey(c.db, idempotency, `${network}/${sender}`);
    });
    onDue();
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
        ? { type: "derived", path: derivedSigner(c, tenantId, network).path }
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
