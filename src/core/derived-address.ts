/**
 * Addresses of an account-level extended public key: `<account>/0/<index>`, for BIP-44, BIP-49, BIP-84 and BIP-86.
 * One account and one index give one address for ever; no private key is needed and none passes.
 */

import { secp256k1 } from "@noble/curves/secp256k1";
import { keccak_256 } from "@noble/hashes/sha3";
import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils";
import { HDKey } from "@scure/bip32";
import { p2pkh, p2sh, p2tr, p2wpkh } from "@scure/btc-signer";
import { addressOfScript } from "./bitcoin-address.ts";
import type { AddressType, ExtendedKey } from "./extended-key.ts";
import type { BitcoinNetwork, NetworkFamily, NetworkSettings } from "./network.ts";
import { slip44Of } from "./network.ts";
import { tronAddress } from "./tron-address.ts";

/** What BIP-44 calls the chain of addresses for others to pay to. */
const EXTERNAL = 0;
/** m/purpose'/coin'/account': three steps below the seed. */
const ACCOUNT_DEPTH = 3;
/** Highest index that is not hardened: those above cannot be derived from a public key. */
export const MAX_INDEX = 0x7fffffff;

const PURPOSES: Readonly<Record<AddressType, number>> = {
  p2pkh: 44,
  "p2sh-p2wpkh": 49,
  p2wpkh: 84,
  p2tr: 86,
  evm: 44,
  tron: 44,
};

const TYPES_OF: Readonly<Record<NetworkFamily, readonly AddressType[]>> = {
  bitcoin: ["p2wpkh", "p2tr", "p2sh-p2wpkh", "p2pkh"],
  evm: ["evm"],
  tron: ["tron"],
  // Ed25519 derives from private keys alone (SLIP-0010): an account has no public key that others could be made from.
  solana: [],
};

/** What decides the addresses: two spellings of one key and type are one account. */
export interface Account {
  readonly type: AddressType;
  readonly chainCode: Uint8Array;
  /** Compressed, on the curve. */
  readonly publicKey: Uint8Array;
  /** `m/84'/0'/0'`, as the type and the network have it. */
  readonly path: string;
}

export type CheckedAccount =
  | { readonly ok: true; readonly account: Account }
  | { readonly ok: false; readonly field: "xpub" | "type"; readonly message: string };

/**
 * The account that a key stands for on a network. What the key's version says (SLIP-132) must agree with the
 * network and with `asked`; where it says nothing, `asked` must be there: a wrong guess would give addresses that
 * the merchant's wallet does not look at.
 */
export function accountOf(network: NetworkSettings, key: ExtendedKey, asked: AddressType | null): CheckedAccount {
  const place = placeProblem(network, key);
  if (place !== null) return { ok: false, field: "xpub", message: place };
  const types = TYPES_OF[network.family];
  const type = asked ?? key.saysType ?? (types.length === 1 ? types[0] : undefined);
  if (type === undefined) {
    const message = `${key.prefix} does not say which addresses the wallet makes: expected one of ${types.join(", ")}`;
    return { ok: false, field: "type", message };
  }
  if (!types.includes(type)) {
    return { ok: false, field: "type", message: `${network.id} has no such addresses: expected ${types.join(", ")}` };
  }
  if (key.saysType !== null && type !== key.saysType) {
    return { ok: false, field: "type", message: `${key.prefix} is of ${key.saysType}, the type asked for is ${type}` };
  }
  const { chainCode, publicKey } = key;
  const path = `m/${PURPOSES[type]}'/${slip44Of(network)}'/${key.child.number}'`;
  const account = { type, chainCode, publicKey, path };
  return hasAddresses(account)
    ? { ok: true, account }
    : { ok: false, field: "xpub", message: "BIP-32 gives no addresses below this key" };
}

/** What is wrong with where a key stands, or null. */
function placeProblem(network: NetworkSettings, { prefix, chain, saysType, depth, child }: ExtendedKey): string | null {
  if (network.family === "solana") {
    return (
      `on ${network.id} no address can be made from a public key (ed25519 has hardened keys alone, SLIP-0010); make one ` +
      "in your own wallet for each customer and register it by POST /v1/addresses"
    );
  }
  if (network.family !== "bitcoin" && (chain !== "main" || saysType !== null)) {
    return `${prefix} is a key of Bitcoin's; on ${network.id} an account's key begins with xpub`;
  }
  if (network.family === "bitcoin") {
    const expected = network.addresses.coinType === 0 ? "main" : "test";
    if (chain !== expected) {
      const begins = expected === "main" ? "xpub, ypub or zpub" : "tpub, upub or vpub";
      return `${prefix} is a key of ${chain === "main" ? "the main chain" : "a test chain"}; on ${network.id} it begins with ${begins}`;
    }
  }
  if (depth !== ACCOUNT_DEPTH || !child.hardened) {
    const came = `depth ${depth}, child ${child.number}${child.hardened ? "'" : ""}`;
    return `expected an account's key, depth ${ACCOUNT_DEPTH} and a hardened child such as m/84'/0'/0'; this one is of ${came}`;
  }
  return null;
}

/** Names an account in a table of uniques: SHA-256 over type, chain code and key, in hex. It tells none of them. */
export function accountHash({ type, chainCode, publicKey }: Account): string {
  return bytesToHex(sha256(concatBytes(utf8ToBytes(`${type}\n`), chainCode, publicKey)));
}

/** First four bytes of HASH160 of the account's public key, in hex, as wallets show it (BIP-32). */
export function accountFingerprint({ chainCode, publicKey }: Account): string {
  const { fingerprint } = new HDKey({ chainCode, publicKey });
  return fingerprint.toString(16).padStart(8, "0");
}

/**
 * The canonical address at `<account>/0/<index>`, or null for an index that has no key: probability 2^-127, and BIP-32
 * says to go on with the next one. @param index 0 to `MAX_INDEX`
 */
export function addressAt(network: NetworkSettings, account: Account, index: number): string | null {
  if (!Number.isInteger(index) || index < 0 || index > MAX_INDEX) throw new Error(`no index of a public key: ${index}`);
  const branch = childOf(account, EXTERNAL);
  const publicKey = branch === null ? null : (childOf(branch, index)?.publicKey ?? null);
  if (publicKey === null) return null;
  switch (network.family) {
    case "evm":
      return `0x${keyHash(publicKey)}`;
    case "tron":
      return tronAddress(keyHash(publicKey));
    case "bitcoin":
      return bitcoinAddress(network, account.type, publicKey);
    case "solana":
      throw new Error(`an account is kept on ${network.id}, whose addresses come from no public key`);
  }
}

/** The address by which a merchant recognises the account in a wallet: the first that there is. */
export function firstAddress(network: NetworkSettings, account: Account): string {
  for (let index = 0; index <= MAX_INDEX; index++) {
    const address = addressAt(network, account, index);
    if (address !== null) return address;
  }
  throw new Error("an account without any address");
}

/** `0/17`: below the account. */
export function derivationPath(index: number): string {
  return `${EXTERNAL}/${index}`;
}

type Node = Pick<Account, "chainCode" | "publicKey">;

/** Null when BIP-32 gives no key here. The library then throws, or goes on to the next child without a word. */
function childOf({ chainCode, publicKey }: Node, index: number): Node | null {
  try {
    const child = new HDKey({ chainCode, publicKey }).deriveChild(index);
    if (child.index !== index || child.chainCode === null || child.publicKey === null) return null;
    return { chainCode: child.chainCode, publicKey: child.publicKey };
  } catch {
    return null;
  }
}

function hasAddresses(account: Account): boolean {
  return childOf(account, EXTERNAL) !== null;
}

function bitcoinAddress({ addresses }: BitcoinNetwork, type: AddressType, publicKey: Uint8Array): string {
  const address = addressOfScript(addresses, bytesToHex(scriptOf(type, publicKey)));
  if (address === null) throw new Error(`an output of ${type} has no address`);
  return address;
}

function scriptOf(type: AddressType, publicKey: Uint8Array): Uint8Array {
  switch (type) {
    case "p2wpkh":
      return p2wpkh(publicKey).script;
    case "p2sh-p2wpkh":
      return p2sh(p2wpkh(publicKey)).script;
    case "p2pkh":
      return p2pkh(publicKey).script;
    case "p2tr":
      // The x coordinate alone, tweaked without a script tree (BIP-86).
      return p2tr(publicKey.slice(1)).script;
    case "evm":
    case "tron":
      throw new Error(`an account of ${type} addresses is kept on a Bitcoin network`);
  }
}

/** Last 20 bytes of Keccak-256 of both coordinates (yellow paper, appendix F), in lower-case hex. TRON has the same. */
function keyHash(publicKey: Uint8Array): string {
  const coordinates = secp256k1.ProjectivePoint.fromHex(publicKey).toRawBytes(false).slice(1);
  return bytesToHex(keccak_256(coordinates).slice(-20));
}

/** What is shown of a key: whoever has all of it can list every address of the account. */
export function shortened(xpub: string): string {
  return `${xpub.slice(0, 8)}...${xpub.slice(-8)}`;
}

/** An account as it is stored: `02ab..:cd..`, public key and chain code in hex. */
export function packAccount({ publicKey, chainCode }: Account): string {
  return `${bytesToHex(publicKey)}:${bytesToHex(chainCode)}`;
}

export function unpackAccount(packed: string, type: AddressType, path: string): Account {
  const [publicKey = "", chainCode = ""] = packed.split(":");
  return { type, path, publicKey: hexToBytes(publicKey), chainCode: hexToBytes(chainCode) };
}
