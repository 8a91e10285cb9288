/** Owns: the questions whether a port of this machine can be listened on, and whether a process does. */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
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

/**
 * Whether this very process listens on a port of 127.0.0.1. An answer on the port proves less: it may come from
 * another program that was there first. Without /proc there is nothing to look at, and it is believed.
 */
export function listensOn(pid, port) {
  if (process.platform !== "linux") return true;
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  try {
    // proc(5): local address, remote address, state (0A: listening), ..., inode.
    const inodes = readFileSync("/proc/net/tcp", "latin1")
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[1] === local && fields[3] === "0A")
      .map((fields) => `socket:[${fields[9]}]`);
    return readdirSync(`/proc/${pid}/fd`).some((file) => inodes.includes(linkOf(`/proc/${pid}/fd/${file}`)));
  } catch {
    return false;
  }
}

function linkOf(path) {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
