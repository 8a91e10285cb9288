/**
 * What a withdrawal request means: canonical network, asset, destination and amount. Two requests with the
 * same fingerprint ask for the same payment, however they were spelled.
 */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { addressProblem, parseAddress } from "../../../core/address.ts";
import { parseAmount } from "../../../core/amount.ts";
import { type Outcome, type Refusal, refuse } from "../../../core/refusal.ts";
import type { NewWithdrawal } from "../../api.ts";
import { unknownNetwork } from "../addresses.ts";
import { type AssetFacts, assetsNamed, mustFindAsset, type TenantContext } from "../context.ts";

export interface WithdrawalIntent {
  readonly network: string;
  readonly asset: AssetFacts;
  /** Canonical. */
  readonly destination: string;
  readonly amountUnits: bigint;
  readonly account: string;
}

/** What it means does not depend on what is switched on at the moment: a request that came before is known again. */
export function readIntent(c: TenantContext, input: NewWithdrawal): Outcome<WithdrawalIntent> {
  const network = c.settings.knownNetworks.get(input.network);
  if (network === undefined) return unknownNetwork(input.network);
  const named = assetsNamed(c, input.asset, network.id)[0];
  if (named === undefined) {
    return refuse("unknown_asset", `The asset ${JSON.stringify(input.asset)} is not listed on ${network.id}.`, {
      errors: [{ path: "asset", message: "expected the symbol of one of GET /v1/assets" }],
    });
  }
  const asset = mustFindAsset(c, network.id, named.asset);
  const parsed = parseAddress(network, input.destination);
  if (!parsed.ok) return badDestination(addressProblem(network, parsed.reason));
  const destination = parsed.address;
  if (/^0x0+$/.test(destination)) return badDestination("the zero address belongs to nobody");
  if (destination === asset.asset) return badDestination("the token's own contract would keep the tokens");
  const amount = parseAmount(input.amount, asset.decimals);
  if (!amount.ok) return badAmount(`expected a decimal amount with at most ${asset.decimals} decimals`);
  if (amount.units === 0n) return badAmount("expected more than nothing");
  const intent = { network: network.id, asset, destination, amountUnits: amount.units, account: input.account };
  return { ok: true, value: intent };
}

/**
 * Whether it can be asked for now.
 * @param isOfWallet whether an address is the hot wallet's, which is no destination
 * @param problem what is wrong with the amount on its network; null: nothing
 */
export function refusedNow(
  c: TenantContext,
  intent: WithdrawalIntent,
  isOfWallet: (address: string) => boolean,
  problem: string | null,
): Outcome<null> {
  if (!c.settings.networks.has(intent.network)) return unknownNetwork(intent.network);
  if (isOfWallet(intent.destination)) return badDestination("the hot wallet cannot pay itself");
  return problem === null ? { ok: true, value: null } : badAmount(problem);
}

/** Hex SHA-256 over what is paid, to whom, from whose account. */
export function fingerprintOf({ network, asset, destination, amountUnits, account }: WithdrawalIntent): string {
  const meaning = JSON.stringify([network, asset.asset, destination, amountUnits.toString(), account]);
  return bytesToHex(sha256(utf8ToBytes(meaning)));
}

export function badDestination(message: string): { ok: false; refusal: Refusal } {
  return refuse("invalid_destination", `The destination is refused: ${message}.`, {
    errors: [{ path: "destination", message }],
  });
}

function badAmount(message: string): { ok: false; refusal: Refusal } {
  return refuse("invalid_fields", "The amount does not fit.", { errors: [{ path: "amount", message }] });
}
