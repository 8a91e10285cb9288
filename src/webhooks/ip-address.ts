/**
 * Owns the question where an IP address points: judged by its number, never by its spelling.
 *
 * Source: the IANA special-purpose address registries (RFC 6890). What is not known to be public counts
 * as inside.
 */

export type AddressScope = "public" | "loopback" | "inside";

/** First address and prefix length of every IPv4 range that is not the public internet. */
const INSIDE_V4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Ranges inside 2000::/3 that are not public: protocol assignments with Teredo, documentation, 6to4. */
const INSIDE_V6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

/**
 * Where an address points; null when the text is not an address. Takes IPv4 in four decimal parts and
 * IPv6 in any of its spellings, without brackets: the forms a URL parser or a DNS answer yields.
 */
export function addressScope(text: string): AddressScope | null {
  const v4 = parseV4(text);
  if (v4 !== null) return scopeV4(v4);
  const v6 = parseV6(text);
  return v6 === null ? null : scopeV6(v6);
}

function scopeV4(address: bigint): AddressScope {
  if (isWithin(address, "127.0.0.0", 8)) return "loopback";
  return INSIDE_V4.some(([first, prefix]) => isWithin(address, first, prefix)) ? "inside" : "public";
}

function scopeV6(address: bigint): AddressScope {
  if (address === 1n) return "loopback";
  // IPv4-mapped and NAT64 addresses go where the IPv4 address inside them goes.
  if (isWithin(address, "::ffff:0:0", 96) || isWithin(address, "64:ff9b::", 96)) {
    return scopeV4(address & 0xffff_ffffn) === "public" ? "public" : "inside";
  }
  if (!isWithin(address, "2000::", 3)) return "inside";
  return INSIDE_V6.some(([first, prefix]) => isWithin(address, first, prefix)) ? "inside" : "public";
}

function isWithin(address: bigint, first: string, prefix: number): boolean {
  const v4 = parseV4(first);
  const start = v4 ?? parseV6(first);
  if (start === null) throw new Error(`not an address: ${first}`);
  const hostBits = BigInt((v4 === null ? 128 : 32) - prefix);
  return address >> hostBits === start >> hostBits;
}

function parseV4(text: string): bigint | null {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)) return null;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseV6(text: string): bigint | null {
  const halves = withHexTail(text).split("::");
  if (halves.length > 2) return null;
  const [head, tail] = halves.map(parseGroups);
  if (!head || tail === null) return null;
  if (tail === undefined) return head.length === 8 ? join(head) : null;
  const missing = 8 - head.length - tail.length;
  return missing < 1 ? null : join([...head, ...Array<bigint>(missing).fill(0n), ...tail]);
}

/** A dotted IPv4 address at the end is the last two groups. */
function withHexTail(text: string): string {
  const start = text.lastIndexOf(":") + 1;
  const v4 = parseV4(text.slice(start));
  return v4 === null ? text : `${text.slice(0, start)}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`;
}

function parseGroups(text: string): bigint[] | null {
  if (text === "") return [];
  const groups = text.split(":");
  return groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group)) ? groups.map((group) => BigInt(`0x${group}`)) : null;
}

function join(groups: readonly bigint[]): bigint {
  return groups.reduce((value, group) => (value << 16n) | group, 0n);
}
