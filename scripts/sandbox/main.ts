/**
 * Owns: the local sandbox as a process. Started by scripts/sandbox.mjs, which hands over the settings and a token on the
 * channel between them; when that channel closes, whatever the reason, this process ends.
 *
 * It rests unless it is asked: no timer runs, and while nothing is to go wrong the service's bytes pass unread.
 *
 * In:  the settings; "healthy", once the service answers; { held } and { kept }, answers to { hold } and { release }.
 * Out: { ready }, { log }; { hold } asks that nobody else mines, { release } that this is over and the chain be stored.
 */

import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { readIfThere, writeWhole } from "../data-folder.mjs";
import { Chain } from "./chain.ts";
import type { World } from "./control.ts";
import { DemoShop } from "./demo-shop.ts";
import { controlUrl, HOST, listen, rpcUrl, serverOf } from "./listener.ts";
import { Receiver } from "./receiver.ts";
import { nodeAt } from "./rpc.ts";
import { RpcProxy } from "./rpc-proxy.ts";

export interface Settings {
  readonly folder: string;
  readonly chainUrl: string;
  readonly serviceUrl: string;
  readonly token: string;
  readonly code: string;
}

/** The service may be busy with what an earlier start left. */
const DEMO_TRIES = 5;
const DEMO_WAIT_MS = 2_000;

process.once("disconnect", () => process.exit(0));
process.once("message", (settings: Settings) => {
  start(settings).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  });
});

async function start({ folder: dataDir, chainUrl, serviceUrl, token, code }: Settings): Promise<void> {
  const folder = join(dataDir, "sandbox");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let world: World | null = null;
  const secrets = { control: token, rpc: randomBytes(16).toString("hex") };
  const server = serverOf(secrets, () => world);
  const port = await listen(server, portIn(folder));
  writeWhole(join(folder, "port"), `${port}\n`);

  const proxy = new RpcProxy(chainUrl);
  const chain = new Chain({ node: nodeAt(chainUrl), alone: (work) => proxy.closedFor(() => heldFor(work)) });
  const receiver = new Receiver(folder);
  const receiverUrl = `http://${HOST}:${port}`;
  const demo = new DemoShop({ folder, serviceUrl, receiverUrl, chain, receiver });
  world = { chain, proxy, receiver, receiverUrl, demo, code };
  process.on("message", (message) => {
    if (message === "healthy") void openShop(demo);
  });
  process.send?.({ ready: { rpcUrl: rpcUrl(port, secrets.rpc), controlUrl: controlUrl(port) } });
}

/** The port of last time, so that endpoints still find the receiver. */
function portIn(folder: string): number | null {
  const port = Number(readIfThere(join(folder, "port"))?.toString("utf8"));
  return Number.isInteger(port) && port > 0 ? port : null;
}

async function openShop(demo: DemoShop): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await demo.open();
      return;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (attempt === DEMO_TRIES) {
        process.send?.({ log: `The sandbox's demo shop could not be made: ${why}` });
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, DEMO_WAIT_MS));
    }
  }
}

/** Nobody else mines meanwhile, and when this resolves the chain is stored as it is then. */
async function heldFor<T>(work: () => Promise<T>): Promise<T> {
  const held = told("held");
  process.send?.("hold");
  await held;
  try {
    return await work();
  } finally {
    const kept = told("kept");
    process.send?.("release");
    await kept;
  }
}

function told(word: string): Promise<void> {
  return new Promise((resolve) => {
    const listen = (message: unknown) => {
      if (message !== word) return;
      process.off("message", listen);
      resolve();
    };
    process.on("message", listen);
  });
}
