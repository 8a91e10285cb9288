/**
 * Real Bitcoin nodes for one test file, each on regtest with ports, data and password of its own. They and their data
 * are gone when the test process is, however that ends.
 *
 * Where no node can be had, `noBitcoind` says why, and the tests are listed as skipped:
 * `describe.skipIf(noBitcoind)("...", () => { ... })`.
 *
 * What to know of these nodes:
 * - A chain begins at block 0 without coins. `mine(101)` makes the first reward spendable.
 * - A block's time must be later than the median of the eleven before, so mining fast runs ahead of the clock, by a
 *   second for each six blocks. A node refuses blocks two hours ahead: some 40,000 of them.
 * - A killed node comes back without what it had not yet written: it loses all blocks since its last clean end or
 *   `flush()`, in a young chain all of them, and its mempool. The payer's wallet loses nothing, and offers its own
 *   unconfirmed payments to the mempool again at each start, where their coins are there.
 * - Of two branches with equal work each node keeps the one that it saw first.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bitcoindEnvironment, findBitcoind, missingNotice } from "../../scripts/bitcoind.mjs";
import { listensOn } from "../../scripts/ports.mjs";
import { cut, join as joinNodes } from "./bitcoind-peers.ts";
import { BitcoindError, callBitcoind } from "./bitcoind-rpc.ts";
import { startGuard } from "./guard.ts";
import { freePort } from "./ports.ts";

export { BitcoindError } from "./bitcoind-rpc.ts";

export type AddressType = "legacy" | "p2sh-segwit" | "bech32" | "bech32m";

export interface BitcoindOptions {
  /** Further arguments, after the helper's own: `-acceptnonstdtxn=1`, `-minrelaytxfee=0.0001`. The last one counts. */
  readonly args?: readonly string[];
  /** Keeps an index of all transactions, so that `getrawtransaction` needs no block hash. */
  readonly txindex?: boolean;
  /** In the URL it is percent-encoded. Without a colon. */
  readonly password?: string;
}

export interface Bitcoind {
  /** For the product: `http://user:password@127.0.0.1:port`. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly rpcPort: number;
  /** Where other nodes connect. */
  readonly peerPort: number;
  /**
   * Wallet calls reach the node's one wallet, the payer's.
   * @throws BitcoindError with the node's code and words; Error when it gives no answer
   */
  rpc<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T>;
  height(): Promise<number>;
  tip(): Promise<string>;
  /** Gives the new blocks' hashes. By default the rewards go to the payer. */
  mine(blocks?: number, address?: string): Promise<string[]>;
  /**
   * One block with these transactions alone, in this order, whatever the mempool holds or would refuse.
   * @param transactions raw, or by txid when they are in the mempool
   * @returns its hash
   */
  mineOnly(transactions: readonly string[], address?: string): Promise<string>;
  /** Of the payer's wallet. By default bech32: P2WPKH. */
  newAddress(type?: AddressType): Promise<string>;
  /**
   * The payer's wallet sends; nothing is mined. The transaction may be replaced (BIP 125).
   * @param btc decimal, e.g. "0.5"
   * @returns the txid
   */
  pay(address: string, btc: string): Promise<string>;
  /** Joins two nodes, and waits until they agree on the tip: with branches of equal work they never do. */
  connect(other: Bitcoind): Promise<void>;
  /** Cuts two nodes apart, and waits until neither has the other. */
  disconnect(other: Bitcoind): Promise<void>;
  /** Writes blocks and their index to disk: what is there now survives `kill`. */
  flush(): Promise<void>;
  /** SIGKILL. The data stay. */
  kill(): Promise<void>;
  /** Ends it cleanly if it runs, and starts it on the same ports and data; with other further arguments if given. */
  restart(args?: readonly string[]): Promise<void>;
  /** Ends it and removes the data. */
  stop(): Promise<void>;
}

const found = await findBitcoind();
if ("missing" in found && process.env.SLUICE_BITCOIND_MISSING === undefined)
  console.error(missingNotice(found.missing));
// Other files in this process need not look again, nor say so again.
Object.assign(process.env, bitcoindEnvironment(found));

/** Why there is no node for tests; null when there is one. */
export const noBitcoind: string | null = "missing" in found ? found.missing : null;

const USER = "payer";
const START_WITHIN_MS = 60_000;
const END_WITHIN_MS = 30_000;
const WARMING_UP = -28;

const ARGS = [
  "-regtest",
  "-server=1",
  "-printtoconsole=0",
  // No one from outside, and nothing looked for there.
  "-listenonion=0",
  "-natpmp=0",
  "-discover=0",
  "-dnsseed=0",
  "-fixedseeds=0",
  // A plain connection of a trusted peer: transactions go over at once rather than after seconds, and a peer that
  // sent a bad block is not banned.
  "-v2transport=0",
  "-whitelist=noban,in,out@127.0.0.1",
  // Without these a block waits for the disk, and for checks of the node's own that grow with the chain: on a busy
  // machine 70 ms for each instead of one. A kill loses nothing by it, only a power cut would.
  "-unsafesqlitesync=1",
  "-checkblockindex=0",
  "-checkmempool=0",
  "-par=1",
  "-dbcache=50",
  // The payer's wallet. Fee estimation knows nothing on regtest, so that `estimatesmartfee` gives errors alone.
  "-fallbackfee=0.0001",
  "-addresstype=bech32",
  "-changetype=bech32",
  "-keypool=10",
];

/**
 * Knots by default refuses bare multisig and P2PK outputs, data in witnesses and tokens, asks ten times Core's lowest
 * fee, gives coin age a part of each block and keeps blocks small. `-corepolicy` puts that back to Core 29.
 * `-softwareexpiry=0`: an old build goes on working. Its own consensus rules (BLAKE2b, reduced data) have no height on
 * regtest, so they never begin, and signatures are Bitcoin's.
 *
 * No argument, `-acceptnonstdtxn` neither, opens its mempool to an output script above 34 bytes (bare multisig, P2PK),
 * or above 83 bytes when it is OP_RETURN, where Core 30 takes 100,000: `bad-txns-vout-script-toolarge`. In blocks they
 * are valid: `mineOnly` puts them there.
 */
const KNOTS_ARGS = ["-corepolicy=1", "-softwareexpiry=0"];

/** @throws Error with what the node said, when it ends at its start or does not answer in time */
export async function startBitcoind(options: BitcoindOptions = {}): Promise<Bitcoind> {
  if ("missing" in found) throw new Error(missingNotice(found.missing));
  const { path, version } = found;
  const rpcPort = await freePort();
  const peerPort = await freePort();
  const password = options.password ?? randomBytes(16).toString("hex");
  const data = mkdtempSync(join(tmpdir(), "sluice-bitcoind-"));
  const fixed = [
    ...ARGS,
    ...(/Knots/.test(version) ? KNOTS_ARGS : []),
    `-datadir=${data}`,
    `-bind=127.0.0.1:${peerPort}`,
    `-rpcport=${rpcPort}`,
    "-rpcbind=127.0.0.1",
    "-rpcallowip=127.0.0.1",
    `-rpcuser=${USER}`,
    `-rpcpassword=${password}`,
    `-txindex=${options.txindex ? 1 : 0}`,
  ];
  let further = options.args ?? [];
  let child: ChildProcess | null = null;
  let ended = Promise.resolve();
  const guard = startGuard(data);

  const url = `http://${USER}:${encodeURIComponent(password)}@127.0.0.1:${rpcPort}`;
  const rpc: Bitcoind["rpc"] = (method, ...params) => callBitcoind(url, method, params);

  async function start(): Promise<void> {
    const started = spawn(path, [...fixed, ...further], { stdio: ["ignore", "ignore", "pipe"] });
    child = started;
    guard.watch(started.pid ?? null);
    ended = new Promise((resolve) =>
      started.once("close", () => {
        guard.watch(null);
        resolve();
      }),
    );
    await untilAnswering(rpc, started, rpcPort, join(data, "regtest", "debug.log"));
  }

  async function end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const ending = child;
    if (ending === null) return;
    ending.kill(signal);
    const impatience = setTimeout(() => ending.kill("SIGKILL"), END_WITHIN_MS);
    await ended;
    clearTimeout(impatience);
    child = null;
  }

  let payers: string | undefined;
  const rewarded = async (address: string | undefined) => {
    if (address !== undefined) return address;
    payers ??= await node.newAddress();
    return payers;
  };
  const node: Bitcoind = {
    url,
    user: USER,
    password,
    rpcPort,
    peerPort,
    rpc,
    height: () => rpc<number>("getblockcount"),
    tip: () => rpc<string>("getbestblockhash"),
    mine: async (blocks = 1, address) => rpc<string[]>("generatetoaddress", blocks, await rewarded(address)),
    async mineOnly(transactions, address) {
      return (await rpc<{ hash: string }>("generateblock", await rewarded(address), transactions)).hash;
    },
    newAddress: (type = "bech32") => rpc<string>("getnewaddress", "", type),
    pay: (address, btc) => rpc<string>("sendtoaddress", address, btc),
    connect: (other) => joinNodes(node, other),
    disconnect: (other) => cut(node, other),
    // It writes everything before it counts.
    flush: async () => void (await rpc("gettxoutsetinfo", "none")),
    kill: () => end("SIGKILL"),
    async restart(args) {
      await end("SIGTERM");
      further = args ?? further;
      await start();
    },
    async stop() {
      await end("SIGKILL");
      await guard.finish();
    },
  };

  try {
    await start();
    // Loaded again at each start.
    await rpc("createwallet", "payer", false, false, "", false, true, true);
  } catch (error) {
    await node.stop();
    throw error;
  }
  return node;
}

async function untilAnswering(rpc: Bitcoind["rpc"], child: ChildProcess, port: number, log: string): Promise<void> {
  let says = "";
  child.stderr?.on("data", (chunk) => {
    says += chunk;
  });
  const until = Date.now() + START_WITHIN_MS;
  for (;;) {
    try {
      if (!listensOn(child.pid ?? 0, port)) throw new Error("nobody or another program answers");
      await rpc("getblockcount");
      return;
    } catch (error) {
      if (error instanceof BitcoindError && error.code !== WARMING_UP) throw error;
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`bitcoind ended at its start: ${says}${lastLines(log)}`);
      if (Date.now() > until)
        throw new Error(`bitcoind does not answer on port ${port}: ${says}${lastLines(log)}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function lastLines(log: string): string {
  return existsSync(log) ? readFileSync(log, "utf8").trim().split("\n").slice(-8).join("\n") : "";
}
