/**
 * Ports for tests that start processes: free, held by this test process until it ends, and never one that
 * the system would give to somebody's outgoing connection while a service restarts.
 */

import { createServer } from "node:net";
import { probePort } from "../../scripts/ports.mjs";

/** Above what developers' own services prefer, below where Linux takes ports for outgoing connections (32768). */
const FIRST = 12_000;
const COUNT = 20_000;
const MAX_TRIED = 200;

export async function freePort(): Promise<number> {
  for (let tried = 0; tried < MAX_TRIED; tried++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if ((await claim(port)) && "port" in (await probePort("127.0.0.1", port))) return port;
  }
  throw new Error(`none of ${MAX_TRIED} ports between ${FIRST} and ${FIRST + COUNT} was free`);
}

/**
 * Keeps other test processes from the same port, whether somebody listens on it at the moment or not: a socket
 * in Linux's abstract namespace (unix(7)) has no file, and is gone with its process.
 */
function claim(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const lock = createServer();
    lock.once("error", () => resolve(false));
    lock.listen({ path: `\0sluice-test-port-${port}` }, () => {
      lock.unref();
      resolve(true);
    });
  });
}
