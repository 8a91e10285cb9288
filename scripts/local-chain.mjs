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
import { listensOn, probePort } from "./ports.mjs";

const HOST = "127.0.0.1";
const PREFERRED_PORT = 8545;
const CHAIN_ID = 31337;
const MAX_PORTS_TRIED = 5;
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
 * States of earlier blocks are stored too while the chain is short: they grow with the square of its height,
 * and anvil answers nobody while it writes them out. Without them all comes back after a restart but what
 * needs them: `debug_trace*` and reorganisations of blocks that were mined before it. `trace_block` works.
 */
const HISTORY_UP_TO_HEIGHT = 100;
const STOP_WITHIN_MS = 2_500;

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
 * @returns {Promise<{ url: string, running: RunningChain, ended: Promise<Error>, alone: (work: () => Promise<unknown>) => Promise<void>, stop: () => Promise<void> }>}
 *   `ended` resolves when the chain ends without having been stopped. `alone`: nothing is mined here while `work` is at
 *   it, and what it made of the chain is stored before this resolves.
 */
export async function startLocalChain(folder, environment) {
  const home = join(folder.path, "chain");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const kept = join(home, "state.json.gz");
  const load = unpack(kept, join(home, "state.json"));

  try {
    for (let attempt = 1; ; attempt++) {
      const port = await choosePort(attempt === 1 ? PREFERRED_PORT : 0);
      const chain = spawnChain(port, home, kept, load, environment);
      try {
        await chain.ready();
        await chain.keep();
      } catch (error) {
        await chain.end();
        // Somebody took the port between our look and anvil's.
        if (attempt < MAX_PORTS_TRIED && /address already in use/i.test(error.message)) continue;
        throw error;
      }
      chain.follow();
      return {
        running: { url: chain.url, pid: chain.pid, kept },
        url: chain.url,
        ended: chain.ended,
        alone: chain.alone,
        stop: chain.stop,
      };
    }
  } catch (error) {
    if (error instanceof Stop) throw error;
    throw new Stop(
      `The local chain did not start: ${error.message}. If it cannot read its state, move ${folder.path} away as a whole: a new chain under old data looks like a reorganisation.`,
    );
  } finally {
    if (load !== null) rmSync(load, { force: true });
  }
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
  await Promise.race([storeState(url, kept).catch(() => {}), pause(STOP_WITHIN_MS)]);
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

async function storeState(url, kept) {
  const height = Number(await rpc(url, "eth_blockNumber", []));
  const state = await rpc(url, "anvil_dumpState", [height <= HISTORY_UP_TO_HEIGHT]);
  writeWhole(kept, Buffer.from(state.slice(2), "hex"));
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

async function choosePort(preferred) {
  for (const port of preferred === 0 ? [0] : [preferred, 0]) {
    const probe = await probePort(HOST, port);
    if ("port" in probe) return probe.port;
  }
  throw new Stop("No port is free for the local chain.");
}

function spawnChain(port, home, kept, load, environment) {
  const args = ["--host", HOST, "--port", String(port), "--chain-id", String(CHAIN_ID), "--quiet"];
  args.push("--prune-history", String(STATES_IN_MEMORY));
  if (load !== null) args.push("--load-state", load);
  const stdio = ["ignore", "ignore", "pipe"];
  const child = spawn(anvilBinary(), args, { detached: true, stdio, env: environment, cwd: home });
  const url = `http://${HOST}:${port}`;
  let stopping = false;
  let says = "";
  let keptHead = "";
  let storing = Promise.resolve();
  let turn = Promise.resolve();
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

  async function isAnswering() {
    if (listensOn(child.pid, port)) {
      const answers = await head().then(
        () => true,
        () => false,
      );
      if (answers) return true;
    }
    await pause(25);
    return false;
  }

  async function ready() {
    const until = Date.now() + START_WITHIN_MS;
    for (;;) {
      const died = await Promise.race([exited, isAnswering()]);
      if (died === true) return;
      if (died !== false) throw new Error(died);
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

  /** One after the other, so that an older state never replaces a newer one. */
  function store() {
    storing = storing.then(
      () => storeState(url, kept),
      () => storeState(url, kept),
    );
    return storing;
  }

  async function follow() {
    let changedAt = Date.now();
    let settled = false;
    /** Tells whether a block was mined: then there is something to store at once. */
    async function look() {
      if (await keep()) {
        changedAt = Date.now();
        settled = false;
      } else if (!settled && Date.now() - changedAt >= SETTLE_EVERY_MS) {
        settled = !(await wantsBlocks(url));
        if (!settled) await rpc(url, "evm_mine", []);
        return !settled;
      }
      return false;
    }
    while (!stopping) {
      // Busy mining, or ended: then `ended` says so. The next look tries again.
      const again = await inTurn(look).catch(() => false);
      if (!again) await pause(LOOK_EVERY_MS);
    }
  }

  function inTurn(work) {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
  }

  /** anvil loses blocks for good when one is mined while it replaces others. */
  function alone(work) {
    return inTurn(async () => {
      try {
        await work();
      } finally {
        keptHead = "";
        await keep();
      }
    });
  }

  async function stop() {
    stopping = true;
    // Once more, for what changes without a block: a balance that was set, a time that was moved.
    await Promise.race([store().catch(() => {}), exited, pause(STOP_WITHIN_MS)]);
    await end();
  }

  async function end() {
    stopping = true;
    child.kill("SIGKILL");
    await exited;
  }

  const ended = exited.then((reason) =>
    stopping ? new Promise(() => {}) : new Stop(`The local chain ended unexpectedly: ${reason}.`),
  );
  return { url, pid: child.pid, ended, ready, keep, alone, stop, end, follow: () => void follow() };
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
