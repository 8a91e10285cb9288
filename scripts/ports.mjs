/** Owns: the question whether a port of this machine can be listened on. */

import { createServer } from "node:net";

/**
 * @param {number} port 0: any
 * @returns {Promise<{ port: number } | { refused: string }>} `refused` is the system's code, e.g. EADDRINUSE
 */
export function probePort(host, port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve({ refused: error.code ?? error.message }));
    server.listen({ host, port, exclusive: true }, () => {
      const found = server.address().port;
      server.close(() => resolve({ port: found }));
    });
  });
}
