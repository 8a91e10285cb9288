/**
 * Owns: the local chain, one anvil with chain id 31337, kept in the data folder across restarts.
 *
 * Its blocks, receipts and logs come back with the hashes they had: a chain that lost what the service
 * has seen would look like a reorganisation. anvil itself writes its state only when it ends, or on a
 * timer and not atomically; so the state is fetched after every change of the head and replaced as a whole.
 */

import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { readIfThere, writeWhole } from "./data-folder.mjs";
import { PROJECT, Stop } from "./install.mjs";
import { probePort } from "./ports.mjs";

const HOST = "127.0.0.1";
const PREFERRED_PORT = 8545;
const CHAIN_ID = 31337;
const START_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 100;
/** After the last transaction the chain grows by this many blocks, one a second, so that payments settle. */
const SETTLE_BLOCKS = 24;
const SETTLE_EVERY_MS = 1_000;
/**
 * States of earlier blocks that anvil keeps, for traces and reorganisations. A bound also keeps anvil from
 * spilling states into a folder of the user's home, which it never empties when it is killed.
 */
const STATES_IN_MEMORY = 500;
/**
 * Earlier states are stored too while they are small; they grow with the square of the height. Without
 * them everything comes back after a restart but traces of blocks mined before it.
 */
const HISTORY_UP_TO_BYTES = 750_000;
const STOP_WITHIN_MS = 2_000;

/** The anvil of this platform itself, without npm's wrapper, which would leave it running when killed. */
export function anvilBinary() {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`;
  try {
    return createRequire(join(PROJECT, "package.json")).resolve(`${name}/bin/anvil`);
  } catch {
    throw new Stop(
      `There is no anvil for ${process.platform}-${process.arch} (${name}). Give a chain of your own with RPC_LOCAL.`,
    );
  }
}

/**
 * @param {{ path: string, environment: Record<string, string> }} folder
 * @param {Record<string, string | undefined>} environment for the child
 * @returns {Promise<{ url: string, running: RunningChain, ended: Promise<Error>, stop: () => Promise<void> }>}
 *   `ended` resolves when the chain ends without having been stopped
 */
export async function startLocalChain(folder, environment) {
  const home = join(folder.path, "chain");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const kept = join(home, "state.json.gz");
  const load = unpack(kept, join(home, "state.json"));

  const port = await choosePort();
  const args = ["--host", HOST, "--port", String(port), "--chain-id", String(CHAIN_ID), "--quiet"];
  args.push("--prune-history", String(STATES_IN_MEMORY));
  if (load !== null) args.push("--load-state", load);
  const child = spawn(anvilBinary(), args, {
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
    env: environment,
    cwd: home,
  });
  const chain = followChild(child, port, kept);
  try {
    await chain.ready();
    await chain.keep();
  } catch (error) {
    await chain.stop();
    throw new Stop(
      `The local chain did not start: ${error.message}. If it cannot read its state, move ${folder.path} away as a whole: a new chain under old data looks like a reorganisation.`,
    );
  } finally {
    if (load !== null) rmSync(load, { force: true });
  }
  chain.follow();
  return { running: { url: chain.url, pid: child.pid, kept }, url: chain.url, ended: chain.ended, stop: chain.stop };
}

/**
 * What is needed to end a chain whose owner is gone. Sent from process to process.
 * @typedef {{ url: string, pid: number, kept: string }} RunningChain
 */

/**
 * Stores a chain and ends it, for an owner that was killed.
 * @param {RunningChain} chain
 */
export async function endAbandonedChain({ url, pid, kept }) {
  await Promise.race([storeState(url, kept, false).catch(() => {}), pause(STOP_WITHIN_MS)]);
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

/** @returns {Promise<number>} bytes stored */
async function storeState(url, kept, withHistory) {
  const state = await rpc(url, "anvil_dumpState", [withHistory]);
  const bytes = Buffer.from(state.slice(2), "hex");
  writeWhole(kept, bytes);
  return bytes.length;
}

/** anvil reads its state as plain JSON only. */
function unpack(kept, plain) {
  const bytes = readIfThere(kept);
  if (bytes === null) return null;
  try {
    writeWhole(plain, gunzipSync(bytes));
    return plain;
  } catch (error) {
    throw new Stop(
      `The local chain's state in ${kept} cannot be read: ${error.message}. Move the whole data folder away to begin anew.`,
    );
  }
}

async function choosePort() {
  const preferred = await probePort(HOST, PREFERRED_PORT);
  if ("port" in preferred) return preferred.port;
  const any = await probePort(HOST, 0);
  if ("port" in any) return any.port;
  throw new Stop(`No port for the local chain: ${any.refused}.`);
}

function followChild(child, port, kept) {
  const url = `http://${HOST}:${port}`;
  let stopping = false;
  let says = "";
  let keptHead = "";
  let withHistory = true;
  let storingMs = 0;
  let following = Promise.resolve();
  child.stderr.on("data", (chunk) => {
    says = (says + chunk).slice(-1_000);
  });
  const exited = new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) =>
      resolve(`anvil ended with ${signal ?? code}${says === "" ? "" : `: ${oneLine(says)}`}`),
    );
  });

  const head = () => rpc(url, "eth_getBlockByNumber", ["latest", false]);

  async function ready() {
    const until = Date.now() + START_WITHIN_MS;
    for (;;) {
      const died = await Promise.race([
        exited,
        head().then(
          () => null,
          () => pause(25).then(() => ""),
        ),
      ]);
      if (died === null) return;
      if (died !== "") throw new Error(died);
      if (Date.now() > until) throw new Error(`no answer on ${url} within ${START_WITHIN_MS / 1000} s`);
    }
  }

  /** Stores the chain when its head has changed since; tells whether it had. */
  async function keep() {
    const { hash } = await head();
    if (hash === keptHead) return false;
    await store();
    keptHead = hash;
    return true;
  }

  async function store() {
    const from = Date.now();
    const bytes = await storeState(url, kept, withHistory);
    if (bytes > HISTORY_UP_TO_BYTES) withHistory = false;
    storingMs = Date.now() - from;
  }

  async function follow() {
    let changedAt = Date.now();
    let settled = false;
    while (!stopping) {
      try {
        if (await keep()) {
          changedAt = Date.now();
          settled = false;
        } else if (!settled && Date.now() - changedAt >= SETTLE_EVERY_MS) {
          settled = !(await wantsBlocks(url));
          if (!settled) {
            await rpc(url, "evm_mine", []);
            continue;
          }
        }
      } catch {
        // Busy mining, or ended: then `ended` says so. The next look tries again.
      }
      // anvil answers nobody else while it writes its state out.
      await pause(Math.max(LOOK_EVERY_MS, 3 * storingMs));
    }
  }

  async function stop() {
    stopping = true;
    // Once more, for what changes without a block: a balance that was set, a time that was moved.
    const stored = following.then(store).catch(() => {});
    await Promise.race([stored, exited, pause(STOP_WITHIN_MS)]);
    child.kill("SIGKILL");
    await exited;
  }

  const ended = exited.then((reason) =>
    stopping ? new Promise(() => {}) : new Stop(`The local chain ended unexpectedly: ${reason}.`),
  );
  return {
    url,
    ended,
    ready,
    keep,
    stop,
    follow: () => {
      following = follow();
    },
  };
}

/**
 * Whether the chain's last transaction is still fresh. Left alone when somebody took mining into their own
 * hands: a block of ours would pull in what they hold back.
 */
async function wantsBlocks(url) {
  if (!(await rpc(url, "anvil_getAutomine", [])) || (await rpc(url, "anvil_getIntervalMining", [])) !== null)
    return false;
  const head = Number(await rpc(url, "eth_blockNumber", []));
  for (let height = head; height > Math.max(0, head - SETTLE_BLOCKS); height--) {
    const block = await rpc(url, "eth_getBlockByNumber", [`0x${height.toString(16)}`, false]);
    if (block !== null && block.transactions.length > 0) return true;
  }
  return false;
}

async function rpc(url, method, params) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const answer = await response.json();
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result;
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function oneLine(text) {
  return text.trim().replace(/\s*\n\s*/g, " | ");
}
