/** A free port of this machine. Two that are asked for at once differ. */

import { probePort } from "../../scripts/ports.mjs";

export async function freePort(): Promise<number> {
  const probe = await probePort("127.0.0.1", 0);
  if (!("port" in probe)) throw new Error(`no free port: ${probe.refused}`);
  return probe.port;
}
