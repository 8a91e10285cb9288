/** Tokens a tenant lists by contract. Symbol and decimals come from the chain; only listed contracts credit. */

import { addressProblem, parseAddress } from "../../core/address.ts";
import { refuse } from "../../core/refusal.ts";
import type { AssetView, Page } from "../../core/views.ts";
import { assetByContract, insertAsset } from "../../store/tenant/asset-store.ts";
import { bindKey, useOfKey } from "../../store/tenant/key-store.ts";
import type { Idempotency } from "../api.ts";
import { unknownNetwork } from "./addresses.ts";
import type { Audited } from "./audited-call.ts";
import { type Done, KEY_REUSED } from "./authorize.ts";
import { allAssets, assetFacts, assetsNamed, mustFindAsset, type TenantContext, toAssetView } from "./context.ts";
import { scannerOf } from "./peers.ts";

export async function createAsset(
  c: TenantContext,
  tenantId: string,
  input: { readonly network: string; readonly contract: string; readonly symbol: string | null },
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<AssetView>> {
  const network = c.settings.networks.get(input.network)?.settings;
  if (network === undefined) return unknownNetwork(input.network);
  const parsed = parseAddress(network, input.contract);
  if (!parsed.ok) {
    const message = addressProblem(network, parsed.reason);
    return refuse("invalid_address", `The contract is refused: ${message}.`, {
      errors: [{ path: "contract", message }],
    });
  }
  const contract = parsed.address;
  const view = () => toAssetView(network, mustFindAsset(c, network.id, contract));

  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  const listed = assetFacts(c, network.id, contract);
  if (listed !== null) {
    if (input.symbol !== null && input.symbol !== listed.symbol) {
      return refuse("symbol_taken", `${contract} is listed as ${listed.symbol}; a listing keeps its symbol.`);
    }
    // The object was perhaps never told, if the listing's answer was lost.
    await scannerOf(c.env, network.id).listToken(tenantId, contract);
    if (use.kind === "fresh") bindKey(c.db, idempotency, contract);
    return { ok: true, value: view(), replayed: use.kind === "replay" };
  }

  const facts = await scannerOf(c.env, network.id).tokenFacts(contract);
  if (!facts.ok) return facts;
  const symbol = input.symbol ?? facts.value.symbol;
  const row = { network: network.id, contract, symbol, decimals: facts.value.decimals };
  if (assetByContract(c.db, network.id, contract) === undefined) {
    if (assetsNamed(c, symbol, network.id).length > 0) {
      return refuse(
        "symbol_taken",
        `${symbol} already names another asset on ${network.id}; give this one its own symbol.`,
      );
    }
    c.storage.transactionSync(() => {
      insertAsset(c.db, row);
      if (useOfKey(c.db, idempotency).kind === "fresh") bindKey(c.db, idempotency, contract);
      audit.done(contract);
    });
  }
  await scannerOf(c.env, network.id).listToken(tenantId, contract);
  return { ok: true, value: view(), created: true };
}

/** Native coins, built-in tokens and own ones. Bounded by what is listed; one page. */
export function pageOfAssets(c: TenantContext, network: string | null): Done<Page<AssetView>> {
  return { ok: true, value: { data: allAssets(c, network), next_cursor: null } };
}
