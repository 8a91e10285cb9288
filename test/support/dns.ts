/**
 * A DNS-over-HTTPS resolver's answers, byte by byte after RFC 1035: written apart from the code that reads them,
 * with names compressed as resolvers compress them.
 */

export type DnsRecord =
  | { readonly type: "A" | "AAAA"; readonly data: readonly number[] }
  | { readonly type: "CNAME"; readonly to: string };

export interface Zone {
  /** By the type that is asked for. */
  readonly A?: readonly DnsRecord[];
  readonly AAAA?: readonly DnsRecord[];
  readonly code?: number;
  readonly flags?: number;
}

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;

export const a = (text: string): DnsRecord => ({ type: "A", data: text.split(".").map(Number) });
/** @param groups all eight, in hex */
export const aaaa = (...groups: readonly number[]): DnsRecord => ({
  type: "AAAA",
  data: groups.flatMap((group) => [group >> 8, group & 0xff]),
});
export const cname = (to: string): DnsRecord => ({ type: "CNAME", to });

const name = (text: string) => [...text.split(".").flatMap((label) => [label.length, ...Buffer.from(label)]), 0];

export function asked(query: Uint8Array): { name: string; type: "A" | "AAAA" } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(Buffer.from(query.subarray(at + 1, at + 1 + length)).toString());
    at += 1 + length;
  }
  return { name: labels.join("."), type: query[at + 2] === TYPES.AAAA ? "AAAA" : "A" };
}

/** The answer of a resolver that knows this of the name that is asked for. */
export function dnsAnswer(query: Uint8Array, zone: Zone): Uint8Array<ArrayBuffer> {
  const records = zone[asked(query).type] ?? [];
  const body = records.flatMap((record) => {
    const data = record.type === "CNAME" ? name(record.to) : record.data;
    // The owner's name is a pointer to the question's.
    return [0xc0, 12, 0, TYPES[record.type], 0, 1, 0, 0, 0, 60, data.length >> 8, data.length & 0xff, ...data];
  });
  const flags = 0x8180 | (zone.flags ?? 0) | (zone.code ?? 0);
  const header = [0, 0, flags >> 8, flags & 0xff, 0, 1, records.length >> 8, records.length & 0xff, 0, 0, 0, 0];
  return Uint8Array.from([...header, ...query.subarray(12), ...body]);
}
