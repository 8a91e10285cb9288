/**
 * Signs with a key that another machine holds, over JSON-RPC `eth_signTransaction` as Web3Signer, geth and Clef
 * offer it. One request for each signature, never repeated here. What comes back is believed by nobody: the
 * caller decodes it and compares.
 *
 * The signer's URL past its host and the token are secrets.
 */

import { type Intent, type Signer, SignerFault } from "../payout.ts";
import { RpcClient } from "../rpc/client.ts";
import { isMethodMissing, type RpcFailure } from "../rpc/rpc-failure.ts";

export interface RemoteSignerSettings {
  readonly url: string;
  /** Of the key to sign with. Canonical. */
  readonly address: string;
  /** Sent as a bearer token; null: none. */
  readonly token: string | null;
  readonly fetch: typeof fetch;
  /** Deadline of one signature, reading the answer included. */
  readonly timeoutMs: number;
}

/** A signed transfer has a few hundred bytes; geth repeats its fields beside it. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** JSON-RPC 2.0: the request is not understood, and will not be. */
const INVALID_PARAMS = -32602;

/** @throws Error for a URL that is none; the message does not show it. */
export function remoteSigner({ url, address, token, fetch, timeoutMs }: RemoteSignerSettings): Signer {
  const rpc = new RpcClient({ url, fetch, timeoutMs, bearer: token, maxBodyBytes: MAX_ANSWER_BYTES });
  return {
    address,
    async sign(intent) {
      if (intent.sender !== address) throw new Error(`the signer of ${address} was asked to sign for ${intent.sender}`);
      const answer = await rpc.call("eth_signTransaction", [requestOf(intent)]);
      if (!answer.ok) {
        const code = answer.failure.kind === "rpc" ? ` (code ${answer.failure.code})` : "";
        const message = `signer ${rpc.name}: ${answer.failure.message}${code}`;
        throw new SignerFault(message, mayHelpToAskAgain(answer.failure));
      }
      const raw = rawOf(answer.result);
      if (raw !== null) return raw;
      const got = rpc.clean(JSON.stringify(answer.result).slice(0, 80));
      throw new SignerFault(`signer ${rpc.name}: expected a signed transaction in hex, got ${got}`, false);
    },
  };
}

/** Every field is given, so that the signer has nothing to fill in. Web3Signer ignores those that it does not know. */
function requestOf({ sender, to, chainId, nonce, valueUnits, data, gasLimit, fees }: Intent): Record<string, string> {
  const common = {
    from: sender,
    to,
    gas: quantityOf(gasLimit),
    value: quantityOf(valueUnits),
    data,
    nonce: quantityOf(nonce),
    chainId: quantityOf(chainId),
  };
  switch (fees.kind) {
    case "eip1559":
      return {
        ...common,
        type: "0x2",
        maxFeePerGas: quantityOf(fees.maxFeePerGas),
        maxPriorityFeePerGas: quantityOf(fees.maxPriorityFeePerGas),
      };
    case "legacy":
      return { ...common, type: "0x0", gasPrice: quantityOf(fees.gasPrice) };
  }
}

function quantityOf(value: number | bigint): string {
  return `0x${value.toString(16)}`;
}

/** Hex alone, or geth's `{raw, tx}`. */
function rawOf(result: unknown): string | null {
  const raw = typeof result === "object" && result !== null && "raw" in result ? result.raw : result;
  return typeof raw === "string" && /^0x([0-9a-fA-F]{2})+$/.test(raw) ? raw : null;
}

/** A key that is locked may be unlocked and a signer that is down may come back; a wrong set-up stays wrong. */
function mayHelpToAskAgain(failure: RpcFailure): boolean {
  switch (failure.kind) {
    case "rpc":
      return failure.code !== INVALID_PARAMS && !isMethodMissing(failure);
    case "status":
      return failure.code >= 500 || failure.code === 429 || failure.code === 408;
    case "deadline":
    case "unreachable":
    case "malformed":
    case "missing":
      return true;
    case "redirect":
    case "too_large":
      return false;
  }
}
