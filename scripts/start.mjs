/**
 * Owns: `npm start`, from an empty checkout to a service that answers, and its end.
 *
 * Data folder, local chain, sandbox, schema, Worker: started in this order, taken down in the reverse one, and
 * whatever ends first ends all. This file and what it imports use Node's built-in modules only, since
 * nothing is installed yet when it begins.
 */

import { join, resolve } from "node:path";
import { askedToEnd } from "./asked-to-end.mjs";
import { builtWorker } from "./build.mjs";
import { endLeftovers, firstRootKey, openDataFolder, secretOf } from "./data-folder.mjs";
import { ensureInstalled, PROJECT, Stop } from "./install.mjs";
import { startLocalChain } from "./local-chain.mjs";
import { probePort } from "./ports.mjs";
import { startSandbox, wantsSandbox } from "./sandbox.mjs";
import { applyMigrations, logFileOf, startCron, startWorker, urlOf } from "./worker.mjs";

/** Children of a start that was killed notice, store the chain, and end. */
const LEFTOVERS_GRACE_MS = 3_000;
/** Settings that the Worker gets as they are given, beside those of networks. */
const PASSED_ON = new Set(["NETWORKS", "DNS_RESOLVER", "LOG_LEVEL", "OPERATOR_WEBHOOK_URL", "OPERATOR_WEBHOOK_SECRET"]);

async function main() {
  const asked = askedToEnd();
  const whenAsked = new Promise((resolve) => asked.addEventListener("abort", resolve));
  const ends = [];
  let code = 0;
  try {
    const running = run(asked, (end) => ends.unshift(end));
    await Promise.race([running, whenAsked]);
    running.catch(() => {});
  } catch (error) {
    complain(error);
    code = 1;
  }
  for (const end of ends) {
    try {
      await end();
    } catch (error) {
      complain(error);
      code = 1;
    }
  }
  process.exit(code);
}

function complain(error) {
  console.error(error instanceof Stop ? `\n${error.message}` : error);
}

/**
 * Starts everything, then waits. Only ever ends by throwing why.
 * @param {AbortSignal} signal ends the steps that end by themselves
 * @param {(end: () => unknown) => void} atEnd registers how to take down what was just started
 */
async function run(signal, atEnd) {
  const given = process.env;
  const host = given.HOST || "127.0.0.1";
  const wantedPort = portOf(given.PORT || "8787");
  await ensureInstalled(signal);

  const folder = await openDataFolder(resolve(PROJECT, given.DATA_DIR || ".sluice"));
  atEnd(folder.release);
  await endLeftovers(folder.path, LEFTOVERS_GRACE_MS);
  atEnd(() => endLeftovers(folder.path, 0));
  const port = await claimPort(host, wantedPort);

  const chain =
    given.RPC_LOCAL === undefined ? await startLocalChain(folder, { ...given, ...folder.environment }) : null;
  if (chain !== null) atEnd(chain.stop);
  // Only with a chain that is nobody else's: what the sandbox does to a chain is done to all who use it.
  const hasSandbox = chain !== null && wantsSandbox(given.SANDBOX, host);
  const [build, sandbox] = await Promise.all([
    builtWorker(signal),
    hasSandbox ? startSandbox(folder, chain, urlOf(host, port)) : null,
    applyMigrations(folder, signal),
  ]);
  if (sandbox !== null) atEnd(sandbox.stop);
  const worker = startWorker(folder, {
    host,
    port,
    build,
    bindings: bindingsOf(given, folder, sandbox?.rpcUrl ?? chain?.url),
    chain: chain?.running ?? null,
    sandbox: sandbox?.control ?? null,
  });
  atEnd(worker.stop);
  const parts = [worker, chain, sandbox].filter((part) => part !== null);
  const ended = Promise.race(parts.map((part) => part.ended)).then((reason) => Promise.reject(reason));
  await Promise.race([worker.untilHealthy(), ended]);
  atEnd(startCron(worker.url));

  console.log(greeting(worker.url, chain?.url ?? null, folder.path, sandbox?.enterUrl ?? null));
  sandbox?.openShop();
  await ended;
}

/** What the Worker gets: networks and their settings as given, secrets as given or kept. */
function bindingsOf(given, folder, chainUrl) {
  const bindings = {
    ALLOW_LOCAL_WEBHOOKS: given.ALLOW_LOCAL_WEBHOOKS ?? "true",
    KEY_PEPPER: secretOf(folder.path, "key-pepper", given.KEY_PEPPER),
    OPERATOR_TOKEN: secretOf(folder.path, "operator-token", given.OPERATOR_TOKEN),
    WALLET_SEED: secretOf(folder.path, "wallet-seed", given.WALLET_SEED),
    SECRETS_KEY: secretOf(folder.path, "secrets-key", given.SECRETS_KEY, firstRootKey),
  };
  for (const [name, value] of Object.entries(given)) {
    if (/^RPC_[A-Z0-9_]+$/.test(name) || PASSED_ON.has(name)) bindings[name] = value;
  }
  if (chainUrl !== undefined) bindings.RPC_LOCAL = chainUrl;
  return bindings;
}

function portOf(text) {
  const port = Number(text);
  if (!/^[0-9]+$/.test(text) || port > 65_535)
    throw new Stop(`PORT must be a number from 0 to 65535, got "${text}". 0 takes any free port.`);
  return port;
}

async function claimPort(host, wanted) {
  const probe = await probePort(host, wanted);
  if ("port" in probe) return probe.port;
  if (probe.refused === "EADDRINUSE") {
    throw new Stop(
      `Port ${wanted} on ${host} is in use by another program. Stop it, or choose another port: PORT=${wanted + 1} npm start`,
    );
  }
  throw new Stop(
    `Port ${wanted} on ${host} cannot be listened on (${probe.refused}). Choose others with PORT and HOST.`,
  );
}

const DEV_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const ADDRESS = "0x00000000000000000000000000000000000a11ce";

function greeting(url, chainUrl, folder, enterUrl) {
  const lines = [`Sluice listens on ${url}`];
  if (chainUrl !== null) lines.push(`  local chain     ${chainUrl}  (network "local", chain id 31337)`);
  if (enterUrl !== null) lines.push(`  Console: ${enterUrl}`);
  lines.push(`  data            ${folder}`, `  log             ${logFileOf(folder)}`);
  lines.push(`  operator token  ${join(folder, "operator-token")}`, "", "Try it:");
  lines.push(
    `  KEY=$(curl -s ${url}/v1/tenants -H 'content-type: application/json' -d '{"name":"My shop"}' | sed 's/.*"secret":"\\([^"]*\\)".*/\\1/')`,
    `  curl -s ${url}/v1/addresses -H "authorization: Bearer $KEY" -H 'content-type: application/json' -d '{"network":"local","address":"${ADDRESS}"}'`,
  );
  if (chainUrl !== null) {
    const payment = {
      jsonrpc: "2.0",
      id: 1,
      method: "eth_sendTransaction",
      params: [{ from: DEV_ACCOUNT, to: ADDRESS, value: "0xde0b6b3a7640000" }],
    };
    lines.push(`  curl -s ${chainUrl} -H 'content-type: application/json' -d '${JSON.stringify(payment)}'`);
  }
  lines.push(
    `  sleep 5; curl -s ${url}/v1/deposits -H "authorization: Bearer $KEY"`,
    `  curl -s "${url}/v1/events?after=0" -H "authorization: Bearer $KEY"`,
    "",
  );
  return lines.join("\n");
}

await main();
