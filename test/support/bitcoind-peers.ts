/** Which nodes know each other. After each call it is so on both sides. */

import type { Bitcoind } from "./bitcoind.ts";

interface Peer {
  readonly id: number;
  /** The other end's address; of an incoming connection a passing port. */
  readonly addr: string;
  /** This end's. */
  readonly addrbind: string;
  readonly inbound: boolean;
  /** 0 until the peer has introduced itself. */
  readonly version: number;
}

const JOINED_WITHIN_MS = 10_000;
const AGREE_WITHIN_MS = 30_000;
const CUT_WITHIN_MS = 10_000;

export async function join(one: Bitcoind, other: Bitcoind): Promise<void> {
  await until(JOINED_WITHIN_MS, async () => {
    const links = [...(await outgoing(one, other)), ...(await outgoing(other, one))];
    if (links.some(({ version }) => version > 0)) return null;
    // `onetry`: the node does not come back by itself to a peer that was cut off.
    if (links.length === 0) await one.rpc("addnode", addressOf(other), "onetry");
    return "the nodes do not connect";
  });
  await until(AGREE_WITHIN_MS, async () => {
    const [a, b] = await Promise.all([one.tip(), other.tip()]);
    if (a === b) return null;
    const heights = `${await one.height()} and ${await other.height()}`;
    return `the nodes do not agree: they are at heights ${heights}. Of branches with equal work each keeps its own.`;
  });
}

export async function cut(one: Bitcoind, other: Bitcoind): Promise<void> {
  const links = [...(await outgoing(one, other)), ...(await outgoing(other, one))];
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    for (const { id } of await outgoing(from, to)) await from.rpc("disconnectnode", "", id);
  }
  const ends = new Set(links.map(({ addrbind }) => addrbind));
  await until(CUT_WITHIN_MS, async () => {
    const peers = [...(await peersOf(one)), ...(await peersOf(other))];
    const open = peers.filter(({ addr, addrbind, inbound }) => ends.has(inbound ? addr : addrbind));
    return open.length === 0 ? null : "the nodes are still connected";
  });
}

async function outgoing(from: Bitcoind, to: Bitcoind): Promise<Peer[]> {
  return (await peersOf(from)).filter(({ addr, inbound }) => !inbound && addr === addressOf(to));
}

function peersOf(node: Bitcoind): Promise<Peer[]> {
  return node.rpc<Peer[]>("getpeerinfo");
}

function addressOf(node: Bitcoind): string {
  return `127.0.0.1:${node.peerPort}`;
}

/** Asks until `missing` gives null. @throws Error with what was missing last */
async function until(withinMs: number, missing: () => Promise<string | null>): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const what = await missing();
    if (what === null) return;
    if (Date.now() > deadline) throw new Error(`within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
