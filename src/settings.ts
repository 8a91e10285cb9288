/**
 * What the operator set, read once and refused as a whole when any of it is wrong. A service that starts
 * with half of its settings moves money by guesswork.
 *
 * No message ever carries a secret, or more of a URL than its host: keys of providers stand in user info,
 * path and query.
 */

import { toBase64 } from "./core/base64.ts";
import type { NetworkSettings } from "./core/network.ts";
import { networksFrom } from "./core/network-settings.ts";
import { BUILT_IN_NETWORKS } from "./core/networks.ts";
import { LOG_LEVELS, type LogLevel, setLog } from "./log.ts";
import { type OperatorWebhook, operatorWebhookFrom } from "./webhooks/operator-target.ts";

/** The part of the environment that is text. */
export interface SettingsSource {
  /** Keys every API key's hash and checksum. Changing it ends every API key. */
  readonly KEY_PEPPER?: string | undefined;
  /** Bearer token of the operator: metrics, and what only a person may decide. */
  readonly OPERATOR_TOKEN?: string | undefined;
  /** Hex of 32 to 64 random bytes: the tenants' hot wallets are derived from it. Changing it moves them all. */
  readonly WALLET_SEED?: string | undefined;
  /**
   * Root keys of what is stored encrypted: `version:base64(32 bytes)`, comma-separated. The first one encrypts, each
   * one decrypts what was encrypted under its version. One that is taken away takes with it what is under it.
   */
  readonly SECRETS_KEY?: string | undefined;
  /** Opens http and loopback webhook targets, for local work only. */
  readonly ALLOW_LOCAL_WEBHOOKS?: string | undefined;
  /** Least level of the lines that are logged: `info` (all), `warn` or `error`. */
  readonly LOG_LEVEL?: string | undefined;
  /** URL of a DNS-over-HTTPS resolver (RFC 8484): what webhook targets' names lead to is looked up there. */
  readonly DNS_RESOLVER?: string | undefined;
  /** Where the operator is told of incidents, and the `whsec_` secret that signs it: both or neither. */
  readonly OPERATOR_WEBHOOK_URL?: string | undefined;
  readonly OPERATOR_WEBHOOK_SECRET?: string | undefined;
  /** JSON by network id: see core/network-settings.ts. */
  readonly NETWORKS?: string | undefined;
  /** `RPC_<NETWORK>`: one or more URLs, comma-separated. A network is on when it has one. */
  readonly [rpc: `RPC_${string}`]: string | undefined;
}

export interface EnabledNetwork {
  readonly settings: NetworkSettings;
  /** In the operator's order, at least one. */
  readonly urls: readonly string[];
}

export interface RootKey {
  readonly version: string;
  /** 32 bytes. */
  readonly bytes: Uint8Array;
}

export interface Settings {
  /** Only networks that have an RPC URL. */
  readonly networks: ReadonlyMap<string, EnabledNetwork>;
  readonly knownNetworks: ReadonlyMap<string, NetworkSettings>;
  readonly keyPepper: string;
  readonly operatorToken: string;
  /** Hex, lower case, 64 to 128 digits. */
  readonly walletSeed: string;
  /** At least one; the first encrypts. */
  readonly rootKeys: readonly RootKey[];
  readonly allowLocalWebhooks: boolean;
  readonly logLevel: LogLevel;
  /** null: names are not looked up. */
  readonly dnsResolver: string | null;
  /** null: the operator is not called. */
  readonly operatorWebhook: OperatorWebhook | null;
}

/** The settings are wrong. `problems` has all of them, safe to show and log. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(["the settings are refused:", ...problems].join("\n  "));
    this.problems = problems;
  }
}

/** Of a part of a provider's path that may be a key. */
const MIN_KEY_CHARS = 12;
const MAX_URLS = 8;
const MIN_SECRET_CHARS = 32;
const MIN_DISTINCT_CHARS = 8;
/** Parts of the values that people leave in, or think of first. */
const WELL_KNOWN = /change.?me|passw[o0]rd|placeholder|example|insecure|letmein|qwerty|default|replace|secret/i;
const RPC = "RPC_";
const MAX_ROOT_KEYS = 8;
/** 32 bytes in base64, with its padding. */
const ROOT_KEY = /^([A-Za-z0-9_-]{1,16}):([A-Za-z0-9+/]{43}=)$/;

const known = new WeakMap<object, Settings>();

/**
 * The settings of an environment, parsed once for each environment object.
 *
 * @throws SettingsError with every problem at once
 */
export function readSettings(env: SettingsSource): Settings {
  const before = known.get(env);
  if (before !== undefined) return before;
  const settings = parse(env);
  known.set(env, settings);
  setLog(settings.logLevel, secretsOf(env, settings));
  return settings;
}

function parse(env: SettingsSource): Settings {
  const problems: string[] = [];
  const keyPepper = secret(env.KEY_PEPPER, "KEY_PEPPER", problems);
  const operatorToken = secret(env.OPERATOR_TOKEN, "OPERATOR_TOKEN", problems);
  const walletSeed = seed(env.WALLET_SEED, "WALLET_SEED", problems);
  if (keyPepper !== "" && keyPepper === operatorToken) problems.push("OPERATOR_TOKEN: must differ from KEY_PEPPER");
  for (const [name, other] of Object.entries({ KEY_PEPPER: keyPepper, OPERATOR_TOKEN: operatorToken })) {
    // Whoever sees one of them must not know the wallets, in whatever case it is spelt.
    if (walletSeed !== "" && walletSeed === other.toLowerCase()) problems.push(`WALLET_SEED: must differ from ${name}`);
  }
  const rootKeys = rootKeysFrom(env.SECRETS_KEY, "SECRETS_KEY", problems);
  for (const [name, other] of Object.entries({
    KEY_PEPPER: keyPepper,
    OPERATOR_TOKEN: operatorToken,
    WALLET_SEED: walletSeed,
  })) {
    if (rootKeys.some(({ bytes }) => isSameSecret(bytes, other)))
      problems.push(`SECRETS_KEY: must differ from ${name}`);
  }
  const allowLocalWebhooks = flag(env.ALLOW_LOCAL_WEBHOOKS, "ALLOW_LOCAL_WEBHOOKS", problems);
  const dnsResolver = resolverUrl(env.DNS_RESOLVER, problems);
  const logLevel = levelFrom(env.LOG_LEVEL, problems);
  const { OPERATOR_WEBHOOK_URL: url, OPERATOR_WEBHOOK_SECRET: whsec } = env;
  const { webhook: operatorWebhook, problems: faults } = operatorWebhookFrom(url, whsec, {
    allowLocal: allowLocalWebhooks,
  });
  problems.push(...faults);
  const knownNetworks = allNetworks(env.NETWORKS, problems);
  const networks = enabledNetworks(env, knownNetworks, problems);
  if (problems.length > 0) throw new SettingsError(problems);
  return {
    networks,
    knownNetworks,
    keyPepper,
    operatorToken,
    walletSeed,
    rootKeys,
    allowLocalWebhooks,
    logLevel,
    dnsResolver,
    operatorWebhook,
  };
}

/** What the log never shows, whatever wrote it: the secrets, and of the URLs that are asked what may be a key. */
function secretsOf(env: SettingsSource, settings: Settings) {
  const { keyPepper, operatorToken, walletSeed, rootKeys, networks, operatorWebhook, dnsResolver } = settings;
  const urls = [...[...networks.values()].flatMap((network) => network.urls), operatorWebhook?.url, dnsResolver];
  const keys = rootKeys.flatMap(({ bytes }) => [toBase64(bytes), hexOf(bytes)]);
  return [
    keyPepper,
    operatorToken,
    walletSeed,
    env.WALLET_SEED ?? "",
    operatorWebhook?.secret ?? "",
    ...keys,
    ...urls.flatMap((url) => (url == null ? [] : keysIn(url))),
  ];
}

/** Ends of paths that are the chain's name are as long as keys that somebody made by hand: they are hidden with them. */
function keysIn(url: string): string[] {
  const { username, password, pathname, searchParams } = new URL(url);
  const texts = [username, password, ...pathname.split("/").filter((part) => part.length >= MIN_KEY_CHARS)];
  return [...texts.flatMap((text) => [text, decoded(text)]), ...searchParams.values()];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function levelFrom(value: unknown, problems: string[]): LogLevel {
  const level = LOG_LEVELS.find((one) => one === value);
  if (level === undefined && !isUnset(value)) problems.push(`LOG_LEVEL: expected one of ${LOG_LEVELS.join(", ")}`);
  return level ?? "info";
}

function allNetworks(json: unknown, problems: string[]): ReadonlyMap<string, NetworkSettings> {
  if (json !== undefined && typeof json !== "string") {
    problems.push(`NETWORKS: expected a text of JSON, got ${typeof json}`);
  } else {
    const parsed = networksFrom(json);
    if (parsed.ok) return parsed.networks;
    problems.push(...parsed.detail.split("\n"));
  }
  return new Map(BUILT_IN_NETWORKS.map((network) => [network.id, network]));
}

function enabledNetworks(
  env: SettingsSource,
  knownNetworks: ReadonlyMap<string, NetworkSettings>,
  problems: string[],
): ReadonlyMap<string, EnabledNetwork> {
  const byVariable = new Map([...knownNetworks.values()].map((network) => [rpcVariable(network.id), network]));
  const enabled = new Map<string, EnabledNetwork>();
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(RPC) || isUnset(value)) continue;
    const network = byVariable.get(name);
    // A misspelt name would switch nothing on and say nothing.
    if (network === undefined)
      problems.push(`${name}: no such network; known are ${[...byVariable.keys()].join(", ")}`);
    const urls = rpcUrls(value, name, problems);
    if (network !== undefined && urls.length > 0) enabled.set(network.id, { settings: network, urls });
  }
  return enabled;
}

function rpcVariable(networkId: string): string {
  return RPC + networkId.toUpperCase().replaceAll("-", "_");
}

function rpcUrls(value: unknown, name: string, problems: string[]): readonly string[] {
  if (typeof value !== "string") {
    problems.push(`${name}: expected URLs separated by commas, got ${typeof value}`);
    return [];
  }
  const texts = value.split(",").map((text) => text.trim());
  if (texts.length > MAX_URLS) problems.push(`${name}: expected at most ${MAX_URLS} URLs, got ${texts.length}`);
  const urls = new Set<string>();
  for (const [i, text] of texts.entries()) {
    const fault = urlFault(text) ?? (urls.has(text) ? "is there twice, which is no second provider" : null);
    if (fault !== null) problems.push(`${name}: URL ${i + 1} of ${texts.length} ${fault}`);
    urls.add(text);
  }
  return [...urls];
}

/** What is wrong with a URL, in words that show nothing of it: "user:password" reads as a scheme, too. */
function urlFault(text: string): string | null {
  if (text === "") return "is empty";
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return "is not one; expected http://... or https://...";
  if (text.includes("#")) return "has a fragment, which is never sent";
  return null;
}

/** The whole path counts, as some resolvers know their customers by it, so nothing of it is shown. */
function resolverUrl(value: unknown, problems: string[]): string | null {
  if (isUnset(value)) return null;
  const text = typeof value === "string" ? value.trim() : "";
  const fault = resolverFault(text);
  if (fault === null) return text;
  problems.push(`DNS_RESOLVER: ${fault}; expected e.g. https://cloudflare-dns.com/dns-query`);
  return null;
}

function resolverFault(text: string): string | null {
  const fault = urlFault(text);
  if (fault !== null) return fault;
  const { protocol, hostname, username, password } = new URL(text);
  // fetch refuses a URL with credentials in it.
  if (username !== "" || password !== "") return "has a user name or password";
  const isLocal = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
  if (protocol === "http:" && !isLocal) return "is http, whose answers anybody on the way can change";
  return /[{}]/.test(text) ? "is a template; questions are sent by POST, which has no variables" : null;
}

/** An empty variable is how a network is left off in a file of settings. */
function isUnset(value: unknown): boolean {
  return value === undefined || (typeof value === "string" && value.trim() === "");
}

/** The secret, or "" when it is missing or weak. */
function secret(value: unknown, name: string, problems: string[]): string {
  const fault = secretFault(value);
  if (fault === null) return String(value);
  problems.push(`${name}: ${fault}`);
  return "";
}

function secretFault(value: unknown): string | null {
  const expected = `expected at least ${MIN_SECRET_CHARS} random characters, e.g. from: openssl rand -hex 32`;
  if (value === undefined || value === "") return `missing; ${expected}`;
  if (typeof value !== "string") return `expected text, got ${typeof value}`;
  if (value.length < MIN_SECRET_CHARS) return `too short with ${value.length} characters; ${expected}`;
  // The token travels in a header, and a line feed at the end of a file is nobody's intention.
  if (!/^[\x20-\x7e]+$/.test(value) || value.trim() !== value) {
    return "expected printable ASCII in one line, without spaces at the ends";
  }
  if (WELL_KNOWN.test(value)) return `contains a word from well-known values; ${expected}`;
  const weakness = weaknessOf(value);
  return weakness === null ? null : `${weakness}; ${expected}`;
}

/** The wallet seed in lower case, or "" when it is missing or weak. */
function seed(value: unknown, name: string, problems: string[]): string {
  const fault = seedFault(value);
  if (fault === null) return String(value).toLowerCase();
  problems.push(`${name}: ${fault}`);
  return "";
}

/** Nothing of the seed is shown, not even which sign does not fit. */
function seedFault(value: unknown): string | null {
  const expected = "expected 32 to 64 random bytes in hex, e.g. from: openssl rand -hex 32";
  if (value === undefined || value === "") return `missing; ${expected}`;
  if (typeof value !== "string") return `expected text, got ${typeof value}`;
  if (!/^(?:[0-9a-fA-F]{2}){32,64}$/.test(value)) {
    return `${/^[0-9a-fA-F]+$/.test(value) ? `has ${value.length} digits` : "is not hex"}; ${expected}`;
  }
  const weakness = weaknessOf(value.toLowerCase());
  return weakness === null ? null : `${weakness}; ${expected}`;
}

/** The root keys, or none when any of them is missing or weak. Nothing of them is shown. */
function rootKeysFrom(value: unknown, name: string, problems: string[]): readonly RootKey[] {
  const expected = 'expected version:base64 of 32 random bytes, e.g. from: echo "1:$(openssl rand -base64 32)"';
  const refuse = (fault: string) => {
    problems.push(`${name}: ${fault}`);
    return [];
  };
  if (value === undefined || value === "") return refuse(`missing; ${expected}`);
  if (typeof value !== "string") return refuse(`expected text, got ${typeof value}`);
  const texts = value.split(",").map((text) => text.trim());
  if (texts.length > MAX_ROOT_KEYS) return refuse(`expected at most ${MAX_ROOT_KEYS} keys, got ${texts.length}`);
  const keys: RootKey[] = [];
  for (const [i, text] of texts.entries()) {
    const at = `key ${i + 1} of ${texts.length}`;
    const [, version, base64] = ROOT_KEY.exec(text) ?? [];
    if (version === undefined || base64 === undefined) return refuse(`${at} does not read; ${expected}`);
    const binary = atob(base64);
    const weakness = weaknessOf(binary);
    if (weakness !== null) return refuse(`${at} ${weakness}; ${expected}`);
    const bytes = Uint8Array.from(binary, (sign) => sign.charCodeAt(0));
    if (keys.some((key) => key.version === version)) return refuse(`${at} has the version of an earlier one`);
    if (keys.some((key) => hexOf(key.bytes) === hexOf(bytes))) return refuse(`${at} is an earlier one's key again`);
    keys.push({ version, bytes });
  }
  return keys;
}

/** Whether a secret given as text is these bytes, as hex or as base64. */
function isSameSecret(bytes: Uint8Array, text: string): boolean {
  return text.toLowerCase() === hexOf(bytes) || text === toBase64(bytes);
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What a text that came by chance never has. */
function weaknessOf(text: string): string | null {
  if (new Set(text).size < MIN_DISTINCT_CHARS) return `uses fewer than ${MIN_DISTINCT_CHARS} characters`;
  return isRepetition(text) || isSequence(text) ? "follows a pattern" : null;
}

/** Whether a unit of at most half the text, repeated, gives the text. */
function isRepetition(text: string): boolean {
  for (let period = 1; period <= text.length / 2; period++) {
    if (text.slice(period) === text.slice(0, -period)) return true;
  }
  return false;
}

/** Whether most characters follow from the one before: "abcdef", "654321". */
function isSequence(text: string): boolean {
  let steps = 0;
  for (let i = 1; i < text.length; i++) {
    if (Math.abs(text.charCodeAt(i) - text.charCodeAt(i - 1)) <= 1) steps++;
  }
  return steps > text.length / 2;
}

function flag(value: unknown, name: string, problems: string[]): boolean {
  const text = value === undefined ? "" : String(value).trim().toLowerCase();
  if (["1", "true", "yes", "on"].includes(text)) return true;
  if (!["", "0", "false", "no", "off"].includes(text)) problems.push(`${name}: expected 1 or 0, true or false`);
  return false;
}
